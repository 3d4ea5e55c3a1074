import { CodecellError } from "../lib/errors.ts";
import { type JsonLimits, parseJson } from "../lib/json/parse-json.ts";

/**
 * One frame: `u32 length · u32 header length · JSON header · raw bytes`, little-endian. `length` counts everything
 * after itself. Both lengths are checked before memory is allocated, so a cell cannot exhaust the host's memory.
 */
export const maxFrameBytes = 4 * 1024 * 1024;
export const maxHeaderBytes = 256 * 1024;
/** How much of a bulk transfer one frame carries. */
export const chunkBytes = 1024 * 1024;

/** A header of this size is parsed at once: whatever it holds, that takes no time. */
const smallHeaderBytes = 4 * 1024;
/** Limits of a larger one. The largest is the end of a run that changed 1,000 files. */
const headerLimits: JsonLimits = { depth: 8, keys: 6_000, values: 8_000, containers: 2_000 };

export interface Frame {
  /** parsed JSON, not yet validated */
  readonly header: unknown;
  /** a view of the received bytes, which are not reused */
  readonly body: Uint8Array;
}

const none = Buffer.alloc(0);

/** Prefix and header of a frame. The body is written separately, so that large bodies are not copied. */
export function encodeFrameHead(header: object, bodyBytes = 0): Buffer {
  return allocated(header, bodyBytes, 0).frame;
}

/** A whole frame in one buffer, for a body that is small enough to copy. */
export function encodeFrame(header: object, body: readonly Uint8Array[], bodyBytes: number): Buffer {
  const { frame, bodyAt } = allocated(header, bodyBytes, bodyBytes);
  let at = bodyAt;
  for (const piece of body) {
    frame.set(piece, at);
    at += piece.byteLength;
  }
  return frame;
}

/** The same for a body that is text, such as code: it is encoded in place. */
export function encodeTextFrame(header: object, text: string, bodyBytes: number): Buffer {
  const { frame, bodyAt } = allocated(header, bodyBytes, bodyBytes);
  frame.write(text, bodyAt);
  return frame;
}

/** A buffer that holds the prefix and the header, with `roomBytes` left for the body. */
function allocated(header: object, bodyBytes: number, roomBytes: number): { frame: Buffer; bodyAt: number } {
  const json = JSON.stringify(header);
  const headerBytes = Buffer.byteLength(json);
  if (headerBytes > maxHeaderBytes || 4 + headerBytes + bodyBytes > maxFrameBytes) {
    throw new CodecellError("too_large", `a frame of ${headerBytes + bodyBytes} bytes exceeds the protocol's limit`);
  }
  const bodyAt = 8 + headerBytes;
  const frame = Buffer.allocUnsafe(bodyAt + roomBytes);
  frame.writeUInt32LE(4 + headerBytes + bodyBytes, 0);
  frame.writeUInt32LE(headerBytes, 4);
  frame.write(json, 8);
  return { frame, bodyAt };
}

/** Turns a byte stream into frames. Bytes from a cell are untrusted: a frame over the limits ends the stream. */
export class FrameDecoder {
  #chunks: Buffer[] = [];
  #buffered = 0;
  #needed = 8;

  /** Adds received bytes and calls `onFrame` for each complete frame, in order. */
  push(bytes: Uint8Array, onFrame: (frame: Frame) => void): void {
    const piece = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    // Usually one read is exactly one frame, and nothing has to be kept.
    if (this.#buffered === 0 && piece.length >= 8 && frameBytes(piece) === piece.length) {
      onFrame(decode(piece, piece.length));
      return;
    }
    this.#chunks.push(piece);
    this.#buffered += piece.length;
    if (this.#buffered < this.#needed) return;
    let data = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks, this.#buffered);
    for (;;) {
      this.#needed = frameBytes(data);
      if (data.length < this.#needed || data.length < 8) break;
      const end = this.#needed;
      onFrame(decode(data, end));
      data = end === data.length ? none : data.subarray(end);
    }
    this.#chunks = data.length > 0 ? [data] : [];
    this.#buffered = data.length;
  }
}

function frameBytes(data: Buffer): number {
  if (data.length < 8) return 8;
  const length = data.readUInt32LE(0);
  const headerLength = data.readUInt32LE(4);
  if (length > maxFrameBytes || headerLength > maxHeaderBytes || headerLength + 4 > length) {
    throw new CodecellError("cell_lost", "the cell sent a frame that exceeds the protocol's limits");
  }
  return 4 + length;
}

function decode(data: Buffer, end: number): Frame {
  const bodyAt = 8 + data.readUInt32LE(4);
  try {
    const text = data.toString("utf8", 8, bodyAt);
    const header: unknown = bodyAt <= smallHeaderBytes ? JSON.parse(text) : parseJson(text, headerLimits);
    return { header, body: bodyAt === end ? none : data.subarray(bodyAt, end) };
  } catch (error) {
    throw new CodecellError("cell_lost", "the cell sent a frame whose header cannot be read", { cause: error });
  }
}
