import { type OpenFile, readChunks, readRange } from "../../artifacts/regular-file.ts";
import type { ByteRange } from "../../artifacts/workspace-file.ts";
import type { CellFiles } from "../../kernel/cell-files.ts";
import type { CellFile } from "../../kernel/messages.ts";
import { CodecellError } from "../../lib/errors.ts";

/** Bytes of one request: limits what many requests together hold in memory on both sides. */
export const pieceBytes = 2 * 1024 * 1024;

/** A file in the memory of a cell. It has no descriptor: a version says whether the content is still the same. */
export class KernelFile implements OpenFile {
  readonly size: number;
  readonly modifiedMs: number;
  readonly changedMs: number;
  readonly identity: string;
  readonly #files: CellFiles;
  readonly #path: string;
  readonly #version: number;

  private constructor(files: CellFiles, path: string, facts: CellFile) {
    this.#files = files;
    this.#path = path;
    this.#version = facts.version;
    this.size = facts.size;
    this.modifiedMs = facts.modifiedMs;
    this.changedMs = facts.modifiedMs;
    this.identity = [path, facts.version, facts.size, facts.modifiedMs].join(":");
  }

  static async open(files: CellFiles, path: string): Promise<KernelFile> {
    const { file } = await files.read(path, 0, 0);
    return new KernelFile(files, path, file);
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

  async isUnchanged(): Promise<boolean> {
    const { file } = await this.#files.read(this.#path, 0, 0);
    return file.version === this.#version && file.size === this.size;
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

function changed(path: string): CodecellError {
  return new CodecellError("file_refused", `${path} changed while it was being read`, { hint: "read it again" });
}
