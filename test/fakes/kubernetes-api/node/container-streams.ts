import type { Readable, Writable } from "node:stream";

/** Somebody who sees what a container prints from now on. Returns false to be asked to wait for `drained`. */
export interface Listener {
  output(stream: "stdout" | "stderr", bytes: Buffer): boolean;
}

interface LogLine {
  readonly stream: "stdout" | "stderr";
  readonly bytes: Buffer;
}

/** Streams of one container: everything goes to the log, and to whoever is attached at that moment. */
export class ContainerStreams {
  readonly #sources: Readonly<Record<"stdout" | "stderr", Readable>>;
  readonly #stdin: Writable;
  readonly #listeners = new Set<Listener>();
  readonly #slow = new Set<Listener>();
  readonly #followers = new Set<(bytes: Buffer) => void>();
  readonly #log: LogLine[] = [];

  constructor(stdin: Writable, stdout: Readable, stderr: Readable) {
    this.#stdin = stdin;
    this.#sources = { stdout, stderr };
    stdin.on("error", () => {}); // the container has exited
    for (const stream of ["stdout", "stderr"] as const)
      this.#sources[stream].on("data", (bytes: Buffer) => this.#pass(stream, bytes));
  }

  /** What was printed before is in the log, and is not shown. */
  attach(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      this.drained(listener);
    };
  }

  /** A slow listener takes more. As on a node, it holds the container up until then. */
  drained(listener: Listener): void {
    if (!this.#slow.delete(listener) || this.#slow.size > 0) return;
    for (const source of Object.values(this.#sources)) source.resume();
  }

  /** `done`: the container has taken it, or has exited. */
  write(bytes: Buffer, done: () => void): void {
    this.#stdin.write(bytes, () => done());
  }

  endInput(): void {
    this.#stdin.end();
  }

  log(): Buffer {
    return Buffer.concat(this.#log.map(({ bytes }) => bytes));
  }

  follow(follower: (bytes: Buffer) => void): () => void {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  #pass(stream: "stdout" | "stderr", bytes: Buffer): void {
    this.#log.push({ stream, bytes });
    for (const follower of this.#followers) follower(bytes);
    for (const listener of this.#listeners) if (!listener.output(stream, bytes)) this.#slow.add(listener);
    if (this.#slow.size > 0) for (const source of Object.values(this.#sources)) source.pause();
  }
}
