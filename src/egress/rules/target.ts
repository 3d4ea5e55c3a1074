import { asciiName } from "../../policy/network/ascii-name.ts";
import { type HostProblem, hostProblemText, parseHostName } from "./host-name.ts";

/** What a client asks to reach, after parsing. */
export interface Target {
  readonly host: string;
  readonly port: number;
}

export type ParsedTarget<Extra = unknown> =
  | ({ readonly ok: true; readonly target: Target } & Extra)
  | {
      readonly ok: false;
      readonly problem: HostProblem | "bad_authority" | "bad_port" | "bad_url" | "bad_path" | "not_http";
      readonly reason: string;
    };

/** What becomes of text that does not parse. */
type Failure = Extract<ParsedTarget, { ok: false }>;

const texts = {
  ...hostProblemText,
  bad_authority: "expected host:port and nothing else",
  bad_port: "a port is 1 to 65535, in decimal without a leading zero",
  bad_url: "expected an absolute URL such as http://packages.example/",
  bad_path: "expected a path that begins with a slash",
  not_http: "only http: URLs are forwarded; other protocols go through CONNECT",
} as const;

function failure(problem: Failure["problem"]): Failure {
  return { ok: false, problem, reason: texts[problem] };
}

/** `host:port` of a CONNECT request. Not by `new URL`, which takes user information, paths and `127.1` without a word. */
export function parseAuthority(text: string, defaultPort?: number): ParsedTarget {
  if (text.length > 300) return failure("too_long");
  if (text.includes("@")) return failure("userinfo");
  const [, bracketed, plain, portText] = /^(?:(\[[^\]]*\])|([^:/?#\\]*))(?::(.*))?$/.exec(text) ?? [];
  const hostText = bracketed ?? plain;
  if (hostText === undefined) return failure("bad_authority");
  const port = portText === undefined ? defaultPort : parsePort(portText);
  if (port === undefined) return failure(portText === undefined ? "bad_authority" : "bad_port");
  return withHost(hostText, port);
}

/** The absolute form of a plain HTTP request; `path` is what goes to the server. */
export function parseForwardUrl(text: string): ParsedTarget<{ readonly path: string }> {
  const [, scheme, authority, rest = ""] = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#]*)(.*)$/.exec(text) ?? [];
  if (scheme === undefined || authority === undefined) return failure("bad_url");
  if (scheme.toLowerCase() !== "http") return failure("not_http");
  if (rest.includes("#")) return failure("bad_url");
  if (authority.includes("\\")) return failure("bad_authority"); // browsers read it as a slash, others as a character
  const parsed = parseAuthority(authority, 80);
  return parsed.ok ? { ...parsed, path: rest.startsWith("/") ? rest : `/${rest}` } : parsed;
}

/** What is asked for in a tunnel that was opened. The absolute form could name another host, so it is not taken. */
export function parseTunnelPath(text: string, target: Target): ParsedTarget<{ readonly path: string }> {
  if (!text.startsWith("/") || text.includes("#")) return failure("bad_path");
  return { ok: true, target, path: text };
}

/**
 * A host that came with its port apart, as SOCKS sends it: in UTF-8, so that an international name may stand there as it is
 * written. HTTP has no such thing: what is not ASCII is refused by its parser.
 */
export function parsePair(host: string, port: number): ParsedTarget {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return failure("bad_port");
  const isPlain = /^[\0-\x7f]*$/.test(host);
  const ascii = isPlain ? host : asciiName(host);
  return ascii === undefined ? failure("not_ascii") : withHost(ascii, port);
}

function withHost(text: string, port: number): ParsedTarget {
  const parsed = parseHostName(text);
  return parsed.ok ? { ok: true, target: { host: parsed.host, port } } : failure(parsed.problem);
}

function parsePort(text: string): number | undefined {
  if (!/^[1-9][0-9]{0,4}$/.test(text)) return undefined;
  const port = Number(text);
  return port <= 65_535 ? port : undefined;
}
