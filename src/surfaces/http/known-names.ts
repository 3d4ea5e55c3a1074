import type { IncomingMessage } from "node:http";
import { HttpError } from "./answers/error-status.ts";

const local = ["localhost", "127.0.0.1", "[::1]"];

/**
 * The attack: a web page reaches us by DNS rebinding, with its own name as Host, or calls from another site, with its
 * Origin. Both are refused before the token is checked.
 */
export function nameCheck(names: readonly string[]): (request: IncomingMessage) => void {
  const known = new Set([...local, ...names.map((name) => bracketed(name.toLowerCase()))]);
  return ({ headers, rawHeaders }) => {
    // A proxy may have checked one of the two, and we would check the other.
    if (isRepeated(rawHeaders)) throw new HttpError("bad_request", "Host, Origin or Authorization was sent twice");
    if (!known.has(hostOf(headers.host ?? ""))) {
      throw new HttpError("forbidden", "the Host header is not a name of this service", {
        hint: "use its own address, or start it with `codecell serve --allow-host NAME`",
      });
    }
    if (headers.origin === undefined) return;
    const origin = /^https?:\/\/([^/]+)$/i.exec(headers.origin)?.[1];
    if (origin === undefined || !known.has(hostOf(origin)))
      throw new HttpError("forbidden", "pages of other sites may not call this service");
  };
}

/** Without the port; an IPv6 address keeps its brackets. */
function hostOf(text: string): string {
  return text.toLowerCase().replace(/:\d+$/, "");
}

function bracketed(name: string): string {
  return name.includes(":") && !name.startsWith("[") ? `[${name}]` : name;
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
