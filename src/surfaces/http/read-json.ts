import type { IncomingMessage } from "node:http";
import { CodecellError } from "../../lib/errors.ts";
import { inexactInteger } from "../../lib/json/inexact-integer.ts";
import { JsonRefused, parseJson } from "../../lib/json/parse-json.ts";
import { loopTurns } from "../../lib/waiting/loop-turns.ts";
import { freeBytes, type MemoryLease } from "../../service/body-memory.ts";
import { readBody } from "../../service/read-body.ts";
import { noMemory } from "./answers/send-body.ts";
import type { HttpLimits } from "./limits.ts";

/** Reads a JSON body; no body is an empty object. A body over the limit is refused before it is in memory. */
export async function readJson(request: IncomingMessage, limits: HttpLimits, memory?: MemoryLease): Promise<unknown> {
  const body = await bodyOf(request, limits, memory);
  if (body.byteLength === 0) return {};
  checkJsonType(request);
  // Parsing blocks everybody: several large bodies are not parsed one right after the other.
  if (body.byteLength > freeBytes) await loopTurns.next();
  try {
    const text = utf8.decode(body);
    const value = parseJson(text);
    assertNotRounded(text);
    return value;
  } catch (cause) {
    if (cause instanceof CodecellError) throw cause;
    if (cause instanceof JsonRefused) {
      const hint = "send less, or upload it as a file";
      throw new CodecellError("usage", `the body is refused: ${cause.message}`, { cause, hint });
    }
    throw new CodecellError("usage", "the body is not valid JSON", { cause });
  }
}

/** What a client in another language sends exactly must not reach a program as another number. */
function assertNotRounded(text: string): void {
  const rounded = inexactInteger(text);
  if (rounded === undefined) return;
  throw new CodecellError("usage", `the integer ${rounded.slice(0, 40)} is too large to pass exactly`, {
    hint: "send it as text",
  });
}

/** The attack: a form of a web page sends text/plain to any site. It cannot send JSON. */
export function checkJsonType({ headers }: IncomingMessage): void {
  if (!/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(headers["content-type"] ?? "")) {
    throw new CodecellError("usage", "the Content-Type is not JSON", { hint: "send `content-type: application/json`" });
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Reads a body. One over the limit is refused before it is in memory. */
export async function bodyOf(
  request: IncomingMessage,
  { jsonBytes: maxBytes, bodyWaitMs: waitMs }: HttpLimits,
  memory: MemoryLease | undefined,
): Promise<Buffer> {
  const read = await readBody(request, { maxBytes, waitMs, memory });
  if ("body" in read) return read.body;
  if (read.refused === "too_large")
    throw new CodecellError("too_large", `the body is larger than ${maxBytes} bytes`, { hint: "send less" });
  if (read.refused === "busy") throw noMemory();
  throw new CodecellError("aborted", "the client disconnected before its request was complete");
}
