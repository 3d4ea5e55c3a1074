import type { IncomingMessage } from "node:http";
import { CodecellError } from "../../lib/errors.ts";

/** A body as JSON; nothing at all is an empty object. More than the limit is refused before it is taken into memory. */
export async function readJson(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  const body = await readBody(request, maxBytes);
  if (body.byteLength === 0) return {};
  const type = request.headers["content-type"] ?? "";
  // A form of a web page can send text/plain anywhere without being asked; it cannot send JSON.
  if (!/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type)) {
    throw new CodecellError("usage", "the body is not declared as JSON", { hint: "content-type: application/json" });
  }
  try {
    return JSON.parse(utf8.decode(body));
  } catch (cause) {
    throw new CodecellError("usage", "the body is not valid JSON", { cause });
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** By events, as every run pays for it: an iterator over the same takes several times as long. */
function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = () => new CodecellError("too_large", `a body has at most ${maxBytes} bytes`, { hint: "send less" });
  return new Promise((resolve, reject) => {
    if (request.destroyed) return reject(goneClient());
    if (Number(request.headers["content-length"] ?? 0) > maxBytes) return reject(tooLarge());
    const chunks: Buffer[] = [];
    let size = 0;
    const settled = () => {
      request.off("data", take).off("end", end).off("close", gone).off("error", gone);
    };
    const take = (chunk: Buffer) => {
      size += chunk.byteLength;
      chunks.push(chunk);
      if (size <= maxBytes) return;
      settled();
      request.pause(); // whoever answers decides what becomes of the rest
      reject(tooLarge());
    };
    const end = () => {
      settled();
      resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
    };
    const gone = () => {
      settled();
      reject(goneClient());
    };
    request.on("data", take).on("end", end).on("close", gone).on("error", gone);
  });
}

function goneClient(): CodecellError {
  return new CodecellError("aborted", "the client went away before its request was whole");
}
