import { CodecellError } from "../../lib/errors.ts";
import { joined } from "./bounded-body.ts";

/** Bytes to send: whole, or in chunks that are read as they are sent. */
export type BodySource = Uint8Array | AsyncIterable<string | Uint8Array>;

/** A body that fetch accepts. `isWhole`: it can be sent again. */
export interface PreparedBody {
  readonly body: NonNullable<RequestInit["body"]>;
  readonly isWhole: boolean;
  /** Tells the source that nothing more is read. */
  release(): void;
}

/** Browsers send a stream only over HTTP/2, which the service does not speak. So they send the whole at once. */
const mostInBrowser = 256 * 1024 * 1024;

export async function prepareBody(source: BodySource, what: string): Promise<PreparedBody> {
  if (source instanceof Uint8Array) return { body: copied(source), isWhole: true, release() {} };
  if (typeof source?.[Symbol.asyncIterator] !== "function")
    throw new CodecellError("usage", `${what} must be bytes or an async iterable of bytes`);
  if (isBrowser()) return { body: await collected(source, what), isWhole: true, release() {} };
  const chunks = source[Symbol.asyncIterator]();
  const release = () => void chunks.return?.()?.catch(() => {});
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await chunks.next();
        if (next.done) controller.close();
        else controller.enqueue(bytesOf(next.value, what));
      },
      cancel: release,
    },
    { highWaterMark: 0 },
  );
  return { body, isWhole: false, release };
}

async function collected(source: AsyncIterable<string | Uint8Array>, what: string): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of source) {
    const bytes = bytesOf(chunk, what);
    size += bytes.byteLength;
    if (size > mostInBrowser)
      throw new CodecellError("too_large", `${what} has more than ${mostInBrowser} bytes`, {
        hint: "browsers send it at once: split it",
      });
    chunks.push(bytes);
  }
  return joined(chunks, size);
}

const encoder = new TextEncoder();

function bytesOf(chunk: unknown, what: string): Uint8Array {
  if (typeof chunk === "string") return encoder.encode(chunk);
  if (chunk instanceof Uint8Array) return chunk;
  throw new CodecellError("usage", `${what} must be bytes, not ${typeof chunk}`);
}

/** fetch does not accept memory that is shared between threads. */
function copied(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes);
}

function isBrowser(): boolean {
  return "document" in globalThis || "importScripts" in globalThis;
}
