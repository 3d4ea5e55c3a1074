import type { IncomingMessage } from "node:http";
import { CodecellError } from "../../lib/errors.ts";

/** A body as JSON; nothing at all is an empty object. More than the limit is refused before it is taken into memory. */
export async function readJson(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  const tooLarge = () => new CodecellError("too_large", `a body has at most ${maxBytes} bytes`, { hint: "send less" });
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  // Left early, a plain loop would destroy the connection, and the client would never read why.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  if (size === 0) return {};
  const type = request.headers["content-type"] ?? "";
  // A form of a web page can send text/plain anywhere without being asked; it cannot send JSON.
  if (!/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type)) {
    throw new CodecellError("usage", "the body is not declared as JSON", { hint: "content-type: application/json" });
  }
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks)));
  } catch (cause) {
    throw new CodecellError("usage", "the body is not valid JSON", { cause });
  }
}
