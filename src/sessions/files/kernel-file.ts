import { type OpenFile, readChunks, readRange } from "../../artifacts/regular-file.ts";
import type { ByteRange } from "../../artifacts/workspace-file.ts";
import type { CellFiles } from "../../kernel/cell-files.ts";
import type { CellFile } from "../../kernel/messages.ts";
import { CodecellError } from "../../lib/errors.ts";

/** Bytes of one request: limits what many requests together hold in memory on both sides. */
export const pieceBytes = 2 * 1024 * 1024;

/** A file that only the cell holds. It has no descriptor: a version says whether the content is still the same. */
export class KernelFile implements OpenFile {
  readonly size: number;
  readonly modifiedMs: number;
  readonly changedMs: number;
  readonly identity: string;
  readonly #files: CellFiles;
  readonly #path: string;
  readonly #version: string;
  readonly #holes: number;

  private constructor(files: CellFiles, cell: string, path: string, facts: CellFile) {
    this.#files = files;
    this.#path = path;
    this.#version = facts.version;
    this.#holes = facts.holes ?? 0;
    this.size = facts.size;
    this.modifiedMs = facts.modifiedMs;
    // The attack: a program writes twice in one tick of its clock, and sets an old time each time. Nobody may remember the first digest.
    this.changedMs = facts.settling ? Number.POSITIVE_INFINITY : facts.modifiedMs;
    // The attack: a cell that describes its file like one of another tenant, whose digest is remembered under the same name then.
    this.identity = [cell, path, facts.version, facts.size, facts.modifiedMs].join(":");
  }

  /** `cell` is a name that no other cell has. */
  static async open(files: CellFiles, cell: string, path: string): Promise<KernelFile> {
    const { file } = await files.read(path, 0, 0);
    return new KernelFile(files, cell, path, file);
  }

  async readInto(buffer: Uint8Array, position: number): Promise<number> {
    let length = 0;
    while (length < buffer.length) {
      const wanted = Math.min(buffer.length - length, pieceBytes);
      const start = position + length;
      const { data, file } = await this.#files.read(this.#path, start, start + wanted);
      // The file changed between two requests: parts of both contents would be a mix.
      if (file.version !== this.#version) throw changed(this.#path);
      buffer.set(data, length);
      length += data.byteLength;
      if (data.byteLength < wanted) break;
    }
    return length;
  }

  read(range: ByteRange & { readonly maxBytes: number }): Promise<Uint8Array> {
    return readRange(this, this.#path, range);
  }

  chunks(range: ByteRange = {}): AsyncGenerator<Uint8Array, void, void> {
    return readChunks(this, this.#path, pieceBytes, range);
  }

  async holeBytes(): Promise<number> {
    return Math.min(this.#holes, this.size);
  }

  async isUnchanged(): Promise<boolean> {
    const { file } = await this.#files.read(this.#path, 0, 0);
    return file.version === this.#version && file.size === this.size;
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

function changed(path: string): CodecellError {
  return new CodecellError("file_refused", `${path} changed while it was being read`, { hint: "read it again" });
}
