import type { IncomingHttpHeaders } from "node:http";

/** Headers of one connection, which say nothing to the next one (RFC 9110, 7.6.1). */
const hopHeaders = new Set([
  ...["connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"],
  ...["te", "trailer", "transfer-encoding", "upgrade", "expect"],
]);

/** Pure: the headers to pass on. None of ours comes from a client: it could imitate a gateway. */
export function passedOn(rawHeaders: readonly string[], { connection }: IncomingHttpHeaders): string[] {
  const named = new Set((connection ?? "").split(",").map((name) => name.trim().toLowerCase()));
  // The attack: a client that takes the length from its own request. The peer then reads the body as the next request, and its
  // response goes to whoever uses the connection next.
  named.delete("content-length");
  const passed: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    const lower = name.toLowerCase();
    if (hopHeaders.has(lower) || named.has(lower) || lower === "host" || lower.startsWith("x-codecell-")) continue;
    passed.push(name, rawHeaders[at + 1] ?? "");
  }
  return passed;
}
