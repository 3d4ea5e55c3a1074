/**
 * One-way byte records from the interpreter's thread to the supervisor's, through shared memory. No record is lost when
 * the writer is killed. A full ring makes the writer wait, which is the backpressure.
 */
export const dataBytes = 4 * 1024 * 1024;
const headBytes = 64;

const written = 0;
const taken = 1;
const signalled = 2;

/** Counters that both threads see. User code cannot reach them. */
const limitAt = 2;
const stdoutAt = 3;
const stderrAt = 4;

export const recordKinds = { stdout: 1, stderr: 2, message: 3 } as const;
export type RecordKind = (typeof recordKinds)[keyof typeof recordKinds];
/** u32 payload length, u8 kind */
const recordHeadBytes = 5;

export function createRing(): SharedArrayBuffer {
  return new SharedArrayBuffer(headBytes + dataBytes);
}

/** Counts what a run prints, and limits how much of it is passed on. */
export class OutputCounters {
  readonly #numbers: Float64Array;

  constructor(ring: SharedArrayBuffer) {
    this.#numbers = new Float64Array(ring, 0, headBytes / 8);
  }

  /** Starts counting from zero. With `limit` 0, nothing is passed on. */
  begin(limit: number): void {
    this.#numbers[stdoutAt] = 0;
    this.#numbers[stderrAt] = 0;
    this.#numbers[limitAt] = limit;
  }

  end(): void {
    this.#numbers[limitAt] = 0;
  }

  get stdout(): number {
    return this.#numbers[stdoutAt] ?? 0;
  }

  get stderr(): number {
    return this.#numbers[stderrAt] ?? 0;
  }

  /** Counts bytes and returns how many of them are within the limit. */
  take(kind: RecordKind, bytes: number): number {
    const room = Math.max(0, (this.#numbers[limitAt] ?? 0) - this.stdout - this.stderr);
    const at = kind === recordKinds.stderr ? stderrAt : stdoutAt;
    this.#numbers[at] = (this.#numbers[at] ?? 0) + bytes;
    return Math.min(room, bytes);
  }
}

export class RingWriter {
  readonly #control: Int32Array;
  readonly #data: Uint8Array;
  readonly #wake: () => void;
  readonly #head = new Uint8Array(recordHeadBytes);
  readonly #headView = new DataView(this.#head.buffer);

  /** `wake` notifies the reader's thread, once per burst. */
  constructor(ring: SharedArrayBuffer, wake: () => void) {
    this.#control = new Int32Array(ring, 0, 3);
    this.#data = new Uint8Array(ring, headBytes);
    this.#wake = wake;
  }

  write(kind: RecordKind, ...parts: readonly Uint8Array[]): void {
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    this.#headView.setUint32(0, length, true);
    this.#head[4] = kind;
    this.#put(this.#head);
    for (const part of parts) this.#put(part);
    this.#signal();
  }

  #put(bytes: Uint8Array): void {
    let from = 0;
    while (from < bytes.length) {
      const head = Atomics.load(this.#control, written);
      const tail = Atomics.load(this.#control, taken);
      const free = dataBytes - ((head - tail) | 0);
      if (free === 0) {
        this.#signal();
        Atomics.wait(this.#control, taken, tail);
        continue;
      }
      const at = (head >>> 0) % dataBytes;
      const count = Math.min(free, bytes.length - from, dataBytes - at);
      this.#data.set(bytes.subarray(from, from + count), at);
      Atomics.store(this.#control, written, (head + count) | 0);
      from += count;
    }
  }

  #signal(): void {
    if (Atomics.exchange(this.#control, signalled, 1) === 0) this.#wake();
  }
}

export class RingReader {
  readonly #control: Int32Array;
  readonly #data: Uint8Array;
  readonly #head = new Uint8Array(recordHeadBytes);
  /** a record that has arrived only in part */
  #partial: { kind: RecordKind; payload: Uint8Array; filled: number } | undefined;

  constructor(ring: SharedArrayBuffer) {
    this.#control = new Int32Array(ring, 0, 3);
    this.#data = new Uint8Array(ring, headBytes);
  }

  /** Calls `onRecord` for each complete record, until it returns false. The caller may keep the payloads. */
  drain(onRecord: (kind: RecordKind, payload: Uint8Array) => boolean): void {
    Atomics.store(this.#control, signalled, 0);
    for (;;) {
      const record = this.#partial ?? this.#begin();
      if (record === undefined) return;
      const count = Math.min(this.#available(), record.payload.length - record.filled);
      this.#take(record.payload, record.filled, count);
      record.filled += count;
      const isComplete = record.filled === record.payload.length;
      this.#partial = isComplete ? undefined : record;
      if (!isComplete) {
        if (this.#available() === 0) return;
      } else if (!onRecord(record.kind, record.payload)) return;
    }
  }

  #begin(): { kind: RecordKind; payload: Uint8Array; filled: number } | undefined {
    if (this.#available() < recordHeadBytes) return undefined;
    this.#take(this.#head, 0, recordHeadBytes);
    const length = new DataView(this.#head.buffer).getUint32(0, true);
    return { kind: this.#head[4] as RecordKind, payload: new Uint8Array(length), filled: 0 };
  }

  #available(): number {
    return (Atomics.load(this.#control, written) - Atomics.load(this.#control, taken)) | 0;
  }

  #take(target: Uint8Array, offset: number, count: number): void {
    const tail = Atomics.load(this.#control, taken);
    const at = (tail >>> 0) % dataBytes;
    const first = Math.min(count, dataBytes - at);
    target.set(this.#data.subarray(at, at + first), offset);
    target.set(this.#data.subarray(0, count - first), offset + first);
    Atomics.store(this.#control, taken, (tail + count) | 0);
    Atomics.notify(this.#control, taken);
  }
}
