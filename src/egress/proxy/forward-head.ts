import { fieldAsRead } from "../rules/field-name.ts";
import { parseAuthority, parseForwardUrl, parseTunnelPath, type Target } from "../rules/target.ts";

/** The head of a plain HTTP request as Node parsed it; `rawHeaders` is name, value, name, value. */
export interface RequestHead {
  readonly method: string;
  readonly url: string;
  readonly httpVersion: string;
  readonly rawHeaders: readonly string[];
}

export type ForwardHead =
  | {
      readonly ok: true;
      readonly target: Target;
      readonly path: string;
      readonly headers: Record<string, string | string[]>;
    }
  | { readonly ok: false; readonly status: 400 | 403 | 501; readonly reason: string; readonly target?: Target };

export const maxHeadBytes = 32 * 1024;
const maxHeaders = 128;

/** Hop-by-hop headers: never passed on. */
const hopByHop = new Set([
  ...["connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization"],
  ...["te", "trailer", "transfer-encoding", "upgrade", "expect", "http2-settings"],
]);
/** The attack: a `Connection` header that lists one of these, so that it is removed and the request changes its meaning. */
const notToBeListed = new Set(["host", "content-length", "transfer-encoding", "authorization", "cookie"]);
/** The attack: request smuggling by another spelling of these headers, which some servers accept. */
const notToBeDisguised = new Set(["content-length", "transfer-encoding"]);
const methodsWithoutBody = new Set(["GET", "HEAD", "DELETE", "OPTIONS"]);

/**
 * Pure: checks a request and makes the one for the server. Anything that two parsers could read differently is refused.
 * `tunnel` is the host of an inspected tunnel: requests in it have a path only and cannot name another host.
 */
export function readForwardHead(head: RequestHead, tunnel?: Target): ForwardHead {
  const refuse = (reason: string, status: 400 | 501 = 400): ForwardHead => ({ ok: false, status, reason });
  const parsed = tunnel ? parseTunnelPath(head.url, tunnel) : parseForwardUrl(head.url);
  if (!parsed.ok) return refuse(parsed.reason);
  const { target, path } = parsed;
  const defaultPort = tunnel ? 443 : 80;
  if (!/^[\x21-\x7e]+$/.test(path)) return refuse("a path with characters that no URL has");
  const fields = pairs(head.rawHeaders);
  if (fields.length > maxHeaders) return refuse(`more than ${maxHeaders} headers`);
  if (fields.some(({ name }) => !notToBeDisguised.has(name) && notToBeDisguised.has(fieldAsRead(name))))
    return refuse("a field that some servers read as another, about the body's length");
  const values = (name: string) => fields.filter((field) => field.name === name).map(({ value }) => value);
  const [host, ...moreHosts] = values("host");
  if (moreHosts.length > 0) return refuse("two Host fields");
  if (host !== undefined && !names(host, target, defaultPort)) {
    // The attack: a URL with an allowed host, and a Host header with another one.
    return { ok: false, status: 403, reason: `the Host header does not name ${target.host}`, target };
  }
  const encodings = values("transfer-encoding");
  const isChunked = encodings.length > 0;
  if (isChunked && (encodings.length > 1 || encodings[0]?.toLowerCase() !== "chunked"))
    return refuse("a transfer encoding other than chunked");
  if (isChunked && head.httpVersion !== "1.1") return refuse("a chunked request of an old version of HTTP");
  const lengths = values("content-length");
  if (lengths.length > 1 || (isChunked && lengths.length > 0))
    return refuse("the length of the body is given more than once");
  if (values("upgrade").some((value) => value.toLowerCase().includes("websocket")))
    return refuse("WebSocket goes through CONNECT, to a port that the policy names", 501);
  if (head.method === "TRACE") return refuse("TRACE is not forwarded", 501);
  const listed = values("connection").flatMap((value) => value.toLowerCase().split(/\s*,\s*/));
  if (listed.some((name) => notToBeListed.has(name))) return refuse("a Connection field that lists what must arrive");
  const headers: Record<string, string | string[]> = Object.create(null);
  headers.host = target.port === defaultPort ? target.host : `${target.host}:${target.port}`;
  for (const { name, value } of fields) {
    if (name === "host" || hopByHop.has(name) || listed.includes(name)) continue;
    const before = headers[name];
    headers[name] = before === undefined ? value : [before, value].flat();
  }
  if (isChunked) headers["transfer-encoding"] = "chunked";
  else if (lengths.length === 0 && !methodsWithoutBody.has(head.method)) headers["content-length"] = "0";
  headers.connection = "close";
  return { ok: true, target, path, headers };
}

/** The headers of a response that are passed to the client. */
export function answerHeaders(rawHeaders: readonly string[]): [string, string][] {
  const fields = pairs(rawHeaders);
  const listed = fields
    .filter(({ name }) => name === "connection")
    .flatMap(({ value }) => value.toLowerCase().split(/\s*,\s*/));
  return fields
    .filter(({ name }) => !hopByHop.has(name) && !listed.includes(name))
    .map(({ name, value }): [string, string] => [name, value]);
}

function names(text: string, target: Target, defaultPort: number): boolean {
  const parsed = parseAuthority(text, defaultPort);
  return parsed.ok && parsed.target.host === target.host && parsed.target.port === target.port;
}

/** Approximate size of headers on the wire, in bytes. */
export function headBytes(rawHeaders: readonly string[]): number {
  return rawHeaders.reduce((sum, text) => sum + text.length + 2, 0);
}

function pairs(rawHeaders: readonly string[]): { name: string; value: string }[] {
  return Array.from({ length: Math.floor(rawHeaders.length / 2) }, (_, index) => ({
    name: (rawHeaders[2 * index] ?? "").toLowerCase(),
    value: rawHeaders[2 * index + 1] ?? "",
  }));
}
