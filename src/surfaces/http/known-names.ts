import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { HttpError } from "./answers/error-status.ts";

const local = new Set(["localhost", "127.0.0.1", "[::1]"]);
/** More than clients and proxies send. The number that Node reads must be higher, because it ignores what follows. */
const maxHeaders = 100;

/**
 * Checks Host, Origin and Sec-Fetch-Site before the token. The attack: a web page reaches the service by DNS rebinding, with its
 * own name as Host, or calls it from another site or from another port of this machine.
 */
export function nameCheck(names: readonly string[]): (request: IncomingMessage) => void {
  const known = new Set(names.map((name) => bracketed(name.toLowerCase())));
  /** A local name has the port of this service, unless the operator named another one. */
  const isKnown = (authority: string, port: number | undefined): boolean => {
    const name = nameOf(authority);
    if (!local.has(name)) return known.has(authority) || known.has(name);
    return authority === name || authority === `${name}:${port}` || known.has(authority);
  };
  return ({ method, headers, rawHeaders, socket }) => {
    if (rawHeaders.length > 2 * maxHeaders) {
      throw new HttpError("bad_request", `a request can have at most ${maxHeaders} header fields`, { status: 431 });
    }
    // The attack: a proxy checks the first header and we check the second.
    if (isRepeated(rawHeaders)) throw new HttpError("bad_request", "Host, Origin or Authorization was sent twice");
    const host = (headers.host ?? "").toLowerCase();
    if (!isKnown(host, socket?.localPort)) {
      throw new HttpError("forbidden", "unknown Host header", {
        hint: "use the address of this service, or start it with `codecell serve --allow-host NAME`; NAME may have a port",
      });
    }
    if (isForeignPage(method, headers, host, (authority) => isKnown(authority, socket?.localPort))) {
      throw new HttpError("forbidden", "web pages of other sites may not call this service");
    }
  };
}

function isForeignPage(
  method: string | undefined,
  headers: IncomingHttpHeaders,
  host: string,
  isKnown: (authority: string) => boolean,
): boolean {
  const { origin, "sec-fetch-site": site, "sec-fetch-mode": mode } = headers;
  if (origin !== undefined) {
    const authority = /^https?:\/\/([^/]+)$/i.exec(origin)?.[1]?.toLowerCase();
    if (authority === undefined) return true;
    // Without a port the origin is another service of this machine, on port 80 or 443, unless Host says the same.
    const isOtherLocal = local.has(authority) && authority !== host;
    if (isOtherLocal || !isKnown(authority)) return true;
  }
  // A link to a file may be opened from any page. It carries no token.
  const isOpenedLink = mode === "navigate" && (method === "GET" || method === "HEAD");
  return site !== undefined && site !== "same-origin" && site !== "none" && !isOpenedLink;
}

/** Without the port; an IPv6 address keeps its brackets. */
function nameOf(authority: string): string {
  return authority.replace(/:\d+$/, "");
}

/** An IPv6 address in brackets. A name may have a port. */
function bracketed(name: string): string {
  return name.split(":").length > 2 && !name.startsWith("[") ? `[${name}]` : name;
}

const single = /^(?:host|authorization|origin)$/i;

function isRepeated(rawHeaders: readonly string[]): boolean {
  let seen = "";
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (!single.test(name)) continue;
    const mark = `${name.toLowerCase()};`;
    if (seen.includes(mark)) return true;
    seen += mark;
  }
  return false;
}
