/** What a caller and the holder of warm cells send each other. Each frame is a type, a length and that many bytes. */
export const frameTypes = {
  /** from the caller, first and once: what it asks for, as JSON */
  request: 1,
  /** from the caller: one piece of stdin, if the holder wants one; empty: its end */
  stdin: 2,
  /** from the caller: the name of a signal that it received */
  signal: 3,
  /** from the holder: text for the caller's stdout or stderr */
  stdout: 4,
  stderr: 5,
  /** from the holder: the next piece of stdin is wanted */
  wantStdin: 6,
  /** from the holder: the program starts now, so it must not be started again elsewhere */
  taken: 7,
  /** from the holder: the reason why it does not run the program */
  refused: 8,
  /** from the holder, last: the exit code */
  exit: 9,
  /** from the holder: facts about itself, as JSON */
  facts: 10,
} as const;

export type FrameType = keyof typeof frameTypes;

export interface Frame {
  readonly type: FrameType;
  readonly data: Buffer;
}

const headBytes = 5;
const names = new Map(Object.entries(frameTypes).map(([name, number]) => [number as number, name as FrameType]));

export function frame(type: FrameType, data: string | Uint8Array = ""): Buffer {
  const payload = typeof data === "string" ? Buffer.from(data) : data;
  const head = Buffer.allocUnsafe(headBytes);
  head.writeUInt8(frameTypes[type], 0);
  head.writeUInt32BE(payload.byteLength, 1);
  return Buffer.concat([head, payload]);
}

/** Cuts what arrives into frames. Throws on bytes that are no frame, and on a frame that is too long. */
export class FrameReader {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  *push(chunk: Buffer): Generator<Frame> {
    this.#chunks.push(chunk);
    this.#length += chunk.byteLength;
    while (this.#length >= headBytes) {
      const head = this.#peek();
      const type = names.get(head.readUInt8(0));
      const size = head.readUInt32BE(1);
      if (type === undefined) throw new Error("not a frame");
      if (size > this.#maxBytes) throw new Error(`a frame of ${size} bytes is too long`);
      if (this.#length < headBytes + size) return;
      yield { type, data: this.#take(headBytes + size).subarray(headBytes) };
    }
  }

  #peek(): Buffer {
    const [first] = this.#chunks;
    if (first && first.byteLength >= headBytes) return first;
    return this.#joined();
  }

  #take(size: number): Buffer {
    const all = this.#joined();
    this.#chunks = size < all.byteLength ? [all.subarray(size)] : [];
    this.#length -= size;
    return all.subarray(0, size);
  }

  /** Joins only when a whole frame is there, so that a long one is not copied again for each of its chunks. */
  #joined(): Buffer {
    const [first] = this.#chunks;
    const all = this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks);
    this.#chunks = [all];
    return all;
  }
}
