import type { IncomingMessage } from "node:http";
import { HttpError } from "./answers/error-status.ts";

const local = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Names first: a web page that reaches us by DNS rebinding comes with its own name as Host, and one that calls from
 * another site comes with its Origin. Both are refused before a token is looked at.
 */
export function nameCheck(names: readonly string[]): (request: IncomingMessage) => void {
  const known = new Set([...local, ...names.map((name) => bracketed(name.toLowerCase()))]);
  return ({ headers, rawHeaders }) => {
    // Of two, a proxy may have looked at the one and we at the other.
    if (isRepeated(rawHeaders)) throw new HttpError("bad_request", "a header that says who asks stands there twice");
    if (!known.has(hostOf(headers.host ?? ""))) {
      throw new HttpError("forbidden", "this service is not known by that name", {
        hint: "`codecell serve --allow-host NAME` adds a name",
      });
    }
    if (headers.origin === undefined) return;
    const origin = /^https?:\/\/([^/]+)$/i.exec(headers.origin)?.[1];
    if (origin === undefined || !known.has(hostOf(origin)))
      throw new HttpError("forbidden", "another site's page may not call this service");
  };
}

/** Without the port; an address of IPv6 keeps its brackets. */
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
