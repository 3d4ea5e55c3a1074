import type { IncomingMessage } from "node:http";
import { HttpError } from "./answers/error-status.ts";

const local = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Checks Host and Origin before the token. The attack: a web page reaches the service by DNS rebinding, with its own name
 * as Host, or calls it from another site, with its own Origin.
 */
export function nameCheck(names: readonly string[]): (request: IncomingMessage) => void {
  const known = new Set([...local, ...names.map((name) => bracketed(name.toLowerCase()))]);
  return ({ headers, rawHeaders }) => {
    // The attack: a proxy checks the first header and we check the second.
    if (isRepeated(rawHeaders)) throw new HttpError("bad_request", "Host, Origin or Authorization was sent twice");
    if (!known.has(hostOf(headers.host ?? ""))) {
      throw new HttpError("forbidden", "unknown Host header", {
        hint: "use the address of this service, or start it with `codecell serve --allow-host NAME`",
      });
    }
    if (headers.origin === undefined) return;
    const origin = /^https?:\/\/([^/]+)$/i.exec(headers.origin)?.[1];
    if (origin === undefined || !known.has(hostOf(origin)))
      throw new HttpError("forbidden", "web pages of other sites may not call this service");
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
