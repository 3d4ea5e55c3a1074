import { type FileHandle, open } from "node:fs/promises";
import { sealLine, sha256 } from "../../audit/chain/chain.ts";
import { CodecellError } from "../../lib/errors.ts";
import type { RlmEvent } from "./event.ts";

/** The `prev` of the first line. */
export const trajectoryGenesis = sha256("codecell trajectory 1");

/**
 * Writes events as JSON lines. Each line holds the hash of the line before it, so a later change is found. Lines are
 * sealed at once and written in order; the first failure is thrown by `flush` and `close`.
 */
export class TrajectoryWriter implements AsyncDisposable {
  readonly path: string;
  readonly #file: FileHandle;
  #seq = 0;
  #hash = trajectoryGenesis;
  #pending: string[] = [];
  #writing: Promise<void> = Promise.resolve();
  #failure: unknown;
  #isClosed = false;

  private constructor(path: string, file: FileHandle) {
    this.path = path;
    this.#file = file;
  }

  /** Never overwrites: a trajectory is a record. */
  static async create(path: string): Promise<TrajectoryWriter> {
    try {
      return new TrajectoryWriter(path, await open(path, "ax", 0o600));
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      if (code === "EEXIST") {
        throw new CodecellError("usage", `${path} exists, and a trajectory is never overwritten`, {
          hint: "name a new file",
          cause,
        });
      }
      throw new CodecellError("disk_failed", `the trajectory ${path} cannot be created (${code})`, { cause });
    }
  }

  /** Number of lines, and the hash of the last one. */
  get head(): { readonly lines: number; readonly hash: string } {
    return { lines: this.#seq, hash: this.#hash };
  }

  add(event: RlmEvent): void {
    if (this.#isClosed) return;
    const { at, ...fact } = event;
    const facts = { seq: ++this.#seq, time: new Date(at).toISOString(), prev: this.#hash };
    const { text, hash } = sealLine(facts, JSON.stringify(fact));
    this.#hash = hash;
    this.#pending.push(`${text}\n`);
    if (this.#pending.length === 1) this.#writing = this.#writing.then(() => this.#write());
  }

  /** Waits until everything so far is on disk. */
  async flush(): Promise<void> {
    await this.#writing;
    if (this.#failure === undefined) await this.#file.datasync();
    if (this.#failure !== undefined) {
      throw new CodecellError("disk_failed", `the trajectory ${this.path} could not be written`, {
        cause: this.#failure,
      });
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    try {
      await this.flush();
    } finally {
      await this.#file.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #write(): Promise<void> {
    const text = this.#pending.join("");
    this.#pending = [];
    if (this.#failure !== undefined) return;
    try {
      await this.#file.appendFile(text);
    } catch (error) {
      this.#failure = error;
    }
  }
}
