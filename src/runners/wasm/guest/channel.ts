import process from "node:process";

/** A frame of the kernel's protocol: `u32 length · u32 header length · JSON header · raw bytes`, little-endian. */
export interface IncomingFrame {
  readonly header: Readonly<Record<string, unknown>>;
  /** a view of the received bytes; copy it to keep it */
  readonly body: Uint8Array;
}

const maxHeaderBytes = 256 * 1024;
const smallValueCharacters = 4000;
const maxFrameBytes = 4 * 1024 * 1024;

/** Splits the host's byte stream into frames. The host is trusted; the limits catch a program that is not codecell. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #buffered = 0;
  #needed = 8;

  push(chunk: Buffer, onFrame: (frame: IncomingFrame) => void): void {
    this.#chunks.push(chunk);
    this.#buffered += chunk.length;
    if (this.#buffered < this.#needed) return;
    let data = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks, this.#buffered);
    for (;;) {
      this.#needed = data.length < 8 ? 8 : 4 + data.readUInt32LE(0);
      if (this.#needed > 4 + maxFrameBytes) throw new Error("a frame exceeds the limits");
      if (data.length < this.#needed) break;
      const bodyAt = 8 + data.readUInt32LE(4);
      onFrame({ header: JSON.parse(data.toString("utf8", 8, bodyAt)), body: data.subarray(bodyAt, this.#needed) });
      data = data.subarray(this.#needed);
    }
    this.#chunks = data.length > 0 ? [data] : [];
    this.#buffered = data.length;
  }
}

/** The cell's channel, which is this process's standard input and output. */
export class Channel {
  isOpen = true;
  readonly #onDrain: () => void;

  constructor(onFrame: (frame: IncomingFrame) => void, onDrain: () => void) {
    this.#onDrain = onDrain;
    const reader = new FrameReader();
    process.stdin.on("data", (chunk: Buffer) => reader.push(chunk, onFrame));
    process.stdin.on("end", () => process.exit(0));
    process.stdin.on("error", () => process.exit(0));
    process.stdout.on("error", () => process.exit(0));
    process.stdout.on("drain", () => {
      this.isOpen = true;
      this.#onDrain();
    });
  }

  send(header: object, body?: Uint8Array): void {
    const json = Buffer.from(boundedJson(header));
    const bodyBytes = body?.length ?? 0;
    const head = Buffer.allocUnsafe(8 + json.length);
    head.writeUInt32LE(4 + json.length + bodyBytes, 0);
    head.writeUInt32LE(json.length, 4);
    json.copy(head, 8);
    process.stdout.cork();
    this.isOpen = process.stdout.write(head);
    if (body !== undefined && bodyBytes > 0) this.isOpen = process.stdout.write(body);
    process.stdout.uncork();
  }
}

/** Leaves out values that are too large for a header, because the message that a run ended must always arrive. */
export function boundedJson(header: object): string {
  const json = JSON.stringify(header);
  if (Buffer.byteLength(json) <= maxHeaderBytes) return json;
  const small = Object.entries(header).filter(([, value]) => JSON.stringify(value).length <= smallValueCharacters);
  return JSON.stringify(Object.fromEntries(small));
}

/** Parses a header from Python. Undefined if it is not an object. */
export function parseHeader(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const header: unknown = JSON.parse(text);
    return typeof header === "object" && header !== null ? (header as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
