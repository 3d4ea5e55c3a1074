import { type RecordKind, recordKinds } from "./ring.ts";

const maxTailBytes = 512 * 1024;
/** room for the host's line about what was left out, so that a result stays within its limit */
const markerBytes = 64;
/** two counters: bytes after the beginning, by stream */
const headBytes = 16;

/** A part of the end of a run's output. */
export interface TailPart {
  readonly stream: "stdout" | "stderr";
  /** bytes of the stream that were left out before these */
  readonly skipped: number;
  readonly bytes: Uint8Array;
}

/** How many of the bytes that a result keeps come from the end of the output. */
export function tailBytes(outputBytes: number): number {
  return Math.min(maxTailBytes, Math.floor(outputBytes / 2));
}

/** At most `size`, and less if the bytes would be split inside a UTF-8 character. */
export function wholeCharacters(bytes: Uint8Array, size: number): number {
  for (let cut = size; cut > size - 4 && cut >= 0; cut--) if (!continuesCharacter(bytes[cut])) return cut;
  return size;
}

/** How many bytes at the beginning belong to a UTF-8 character that the part before them ends with. */
export function restOfCharacter(bytes: Uint8Array): number {
  let count = 0;
  while (count < Math.min(3, bytes.length) && continuesCharacter(bytes[count])) count++;
  return count;
}

export function createTail(): SharedArrayBuffer {
  return new SharedArrayBuffer(headBytes + 2 * maxTailBytes);
}

/**
 * The last bytes that a run printed, in memory that both threads see: the interpreter's thread adds them, and the
 * supervisor's reads them at the end, also if it had to kill the other. User code cannot reach them.
 */
export class OutputTail {
  readonly #counts: Float64Array;
  readonly #data: readonly Uint8Array[];

  constructor(memory: SharedArrayBuffer) {
    this.#counts = new Float64Array(memory, 0, 2);
    this.#data = [0, 1].map((at) => new Uint8Array(memory, headBytes + at * maxTailBytes, maxTailBytes));
  }

  begin(): void {
    this.#counts.fill(0);
  }

  add(kind: RecordKind, bytes: Uint8Array): void {
    const at = kind === recordKinds.stderr ? 1 : 0;
    const count = this.#counts[at] ?? 0;
    const last = bytes.subarray(Math.max(0, bytes.length - maxTailBytes));
    const from = (count + bytes.length - last.length) % maxTailBytes;
    const first = Math.min(last.length, maxTailBytes - from);
    this.#data[at]?.set(last.subarray(0, first), from);
    this.#data[at]?.set(last.subarray(first), 0);
    this.#counts[at] = count + bytes.length;
  }

  /** Whether it has bytes of this stream. */
  has(kind: RecordKind): boolean {
    return (this.#counts[kind === recordKinds.stderr ? 1 : 0] ?? 0) > 0;
  }

  /** How much was printed after the beginning. */
  get bytes(): number {
    return (this.#counts[0] ?? 0) + (this.#counts[1] ?? 0);
  }

  /** The end of each stream, both together within the limit. A few lines on stderr survive a flood on stdout. */
  parts(limit: number): TailPart[] {
    const counts = [...this.#counts];
    const total = counts.reduce((sum, count) => sum + count, 0);
    const marked = counts.filter((count) => count > 0).length;
    const room = total <= limit ? limit : Math.max(0, limit - markerBytes * marked);
    const parts = (["stdout", "stderr"] as const).map((stream, at) => {
      const [count, other] = [counts[at] ?? 0, counts[1 - at] ?? 0];
      const size = Math.min(count, Math.max(room - other, Math.floor(room / 2)));
      const bytes = this.#last(at, size);
      const split = size < count ? bytes.subarray(0, 3).findIndex((byte) => !continuesCharacter(byte)) : 0;
      return { stream, skipped: count - size + Math.max(0, split), bytes: bytes.subarray(Math.max(0, split)) };
    });
    return parts.filter(({ skipped, bytes }) => skipped > 0 || bytes.length > 0);
  }

  /** A copy of the last bytes of a stream. */
  #last(at: number, size: number): Uint8Array {
    const bytes = new Uint8Array(size);
    const from = ((this.#counts[at] ?? 0) - size) % maxTailBytes;
    const first = Math.min(size, maxTailBytes - from);
    bytes.set(this.#data[at]?.subarray(from, from + first) ?? []);
    bytes.set(this.#data[at]?.subarray(0, size - first) ?? [], first);
    return bytes;
  }
}

function continuesCharacter(byte = 0): boolean {
  return (byte & 0xc0) === 0x80;
}
