import type { IncomingMessage } from "node:http";
import { CodecellError } from "../../lib/errors.ts";

/** Reads a JSON body; no body is an empty object. A body over the limit is refused before it is in memory. */
export async function readJson(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  const body = await readBody(request, maxBytes);
  if (body.byteLength === 0) return {};
  const type = request.headers["content-type"] ?? "";
  // The attack: a form of a web page sends text/plain to any site. It cannot send JSON.
  if (!/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type)) {
    throw new CodecellError("usage", "the Content-Type is not JSON", { hint: "send `content-type: application/json`" });
  }
  try {
    return JSON.parse(utf8.decode(body));
  } catch (cause) {
    throw new CodecellError("usage", "the body is not valid JSON", { cause });
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Uses events because every run reads a body, and an async iterator is several times slower. */
function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = () =>
    new CodecellError("too_large", `the body is larger than ${maxBytes} bytes`, { hint: "send less" });
  return new Promise((resolve, reject) => {
    if (request.destroyed) return reject(clientDisconnected());
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
      request.pause(); // `sendRefusal` handles the rest of the body
      reject(tooLarge());
    };
    const end = () => {
      settled();
      resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
    };
    const gone = () => {
      settled();
      reject(clientDisconnected());
    };
    request.on("data", take).on("end", end).on("close", gone).on("error", gone);
  });
}

function clientDisconnected(): CodecellError {
  return new CodecellError("aborted", "the client disconnected before its request was complete");
}
