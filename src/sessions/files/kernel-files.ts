import { randomUUID } from "node:crypto";
import { artifactNameProblem, checkArtifactName } from "../../artifacts/artifact-name.ts";
import type { OpenFile } from "../../artifacts/regular-file.ts";
import type {
  ByteRange,
  FileFacts,
  FileList,
  FileSource,
  FileStream,
  ListOptions,
} from "../../artifacts/workspace-file.ts";
import type { WorkspaceFiles } from "../../artifacts/workspace-files.ts";
import { abortable, cancelled, once, tooLarge, type WriteOptions } from "../../artifacts/write-file.ts";
import type { CellFiles } from "../../kernel/cell-files.ts";
import { CodecellError } from "../../lib/errors.ts";
import { firstSignal } from "../../lib/waiting/first-signal.ts";
import { sharedAbort } from "../../lib/waiting/shared-abort.ts";
import { KernelFile, pieceBytes } from "./kernel-file.ts";

const defaultReadBytes = 64 * 2 ** 20;

/** The workspace of a cell whose files no directory of the host holds. Its answers are untrusted: sizes are limited, names are checked. */
export function kernelFiles(files: CellFiles): WorkspaceFiles {
  return new KernelFiles(files);
}

class KernelFiles implements WorkspaceFiles {
  readonly #files: CellFiles;
  readonly #cell = randomUUID();
  readonly #ended = sharedAbort(); // every upload listens

  constructor(files: CellFiles) {
    this.#files = files;
  }

  async stat(path: string): Promise<FileFacts> {
    const { size, modifiedMs } = await this.open(path);
    return { path, size, modifiedMs };
  }

  async open(path: string): Promise<OpenFile> {
    this.#assertOpen();
    return KernelFile.open(this.#files, this.#cell, checkArtifactName(path));
  }

  async read(path: string, options: ByteRange & { readonly maxBytes?: number } = {}) {
    const file = await this.open(path);
    const data = await file.read({ ...options, maxBytes: options.maxBytes ?? defaultReadBytes });
    return { data, size: file.size };
  }

  async stream(path: string, range: ByteRange = {}): Promise<FileStream> {
    const file = await this.open(path);
    const { size, modifiedMs } = file;
    return { size, modifiedMs, data: file.chunks(range), [Symbol.asyncDispose]: async () => {} };
  }

  /** Uploaded under a number first and then renamed, so that no program sees half a file. Owners and modes do not apply. */
  async write(path: string, source: FileSource, options: WriteOptions): Promise<{ size: number }> {
    this.#assertOpen();
    checkArtifactName(path);
    if (source instanceof Uint8Array && source.length > options.maxBytes) throw tooLarge(path, options.maxBytes);
    using first = firstSignal(options.signal, this.#ended.signal);
    const upload = this.#files.newUpload();
    try {
      const size = await this.#send(upload, path, source, { ...options, signal: first.signal });
      await this.#files.place(upload, path);
      return { size };
    } catch (error) {
      await this.#files.drop(upload).catch(() => {});
      throw error;
    }
  }

  async list({ prefix = "", after = "", limit = 1000 }: ListOptions = {}): Promise<FileList> {
    this.#assertOpen();
    const page = Math.min(Math.max(1, Math.floor(limit)), 10_000);
    const { files, next, leftOut, truncated } = await this.#files.list({ prefix, after, limit: page });
    const usable = files.filter(({ path }) => artifactNameProblem(path) === undefined);
    return {
      files: usable,
      ...(next === undefined ? {} : { next }),
      leftOut: leftOut + files.length - usable.length,
      truncated,
    };
  }

  async remove(path: string): Promise<void> {
    this.#assertOpen();
    await this.#files.remove(checkArtifactName(path));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort(new CodecellError("session_closed", "the workspace is closed"));
  }

  async #send(upload: number, path: string, source: FileSource, options: WriteOptions): Promise<number> {
    await this.#files.write(upload, new Uint8Array());
    let size = 0;
    for await (const chunk of abortable(source instanceof Uint8Array ? once(source) : source, options.signal)) {
      if (!(chunk instanceof Uint8Array)) throw new CodecellError("usage", "the content of a file must be bytes");
      if (size + chunk.length > options.maxBytes) throw tooLarge(path, options.maxBytes);
      for (let at = 0; at < chunk.length; at += pieceBytes) {
        if (options.signal?.aborted) throw cancelled(options.signal);
        await this.#files.write(upload, chunk.subarray(at, at + pieceBytes));
      }
      size += chunk.length;
    }
    return size;
  }

  #assertOpen(): void {
    if (this.#ended.signal.aborted) throw new CodecellError("session_closed", "the workspace is closed");
  }
}
