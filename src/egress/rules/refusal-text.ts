import type { Denial } from "./decide.ts";
import { printable } from "./events.ts";

/** Python's HTTP clients show only the reason phrase, so the reason is there as well as in the body. */
export function reasonPhrase(reason: string): string {
  return printable(`codecell: ${reason}`, 200);
}

export function refusalBody({ reason, remedy }: Pick<Denial, "reason" | "remedy">): string {
  return `codecell: ${printable(reason, 400)}\n${printable(remedy, 400)}\n`;
}

/** A complete response, for connections that Node's HTTP server no longer handles. */
export function rawRefusal(status: number, denial: Pick<Denial, "reason" | "remedy">): string {
  const body = refusalBody(denial);
  return [
    `HTTP/1.1 ${status} ${reasonPhrase(denial.reason)}`,
    "Content-Type: text/plain; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
    "",
    body,
  ].join("\r\n");
}
