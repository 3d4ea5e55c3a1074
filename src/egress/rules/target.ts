import { asciiName } from "../../policy/network/ascii-name.ts";
import { type HostProblem, hostProblemText, parseHostName } from "./host-name.ts";

/** The parsed target of a request. */
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

/** `host:port` of a CONNECT request. Not with `new URL`, which silently accepts user information, paths and `127.1`. */
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
  if (authority.includes("\\")) return failure("bad_authority"); // browsers read it as a slash, other programs as a character
  const parsed = parseAuthority(authority, 80);
  return parsed.ok ? { ...parsed, path: rest.startsWith("/") ? rest : `/${rest}` } : parsed;
}

/** The target of a request in an inspected tunnel. The absolute form is refused: it could name another host. */
export function parseTunnelPath(text: string, target: Target): ParsedTarget<{ readonly path: string }> {
  if (!text.startsWith("/") || text.includes("#")) return failure("bad_path");
  return { ok: true, target, path: text };
}

/**
 * A host and a separate port, as in SOCKS, which may carry international names in UTF-8. In HTTP the parser refuses names that
 * are not ASCII.
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
