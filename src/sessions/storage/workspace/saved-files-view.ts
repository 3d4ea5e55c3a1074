import { checkArtifactName } from "../../../artifacts/artifact-name.ts";
import { type OpenFile, readChunks, readRange } from "../../../artifacts/regular-file.ts";
import type { ByteRange, FileFacts, ListOptions } from "../../../artifacts/workspace-file.ts";
import type { WorkspaceFiles } from "../../../artifacts/workspace-files.ts";
import { CodecellError } from "../../../lib/errors.ts";
import type { SnapshotInfo } from "../session-record.ts";
import { readFileList } from "./read-file-list.ts";
import type { SavedFile, SavedFiles } from "./saved-files.ts";

type ReadBlob = (sha256: string, start?: number) => AsyncIterable<Uint8Array>;

const pieceBytes = 1024 * 1024;
const defaultReadBytes = 64 * 2 ** 20;

/** The files of a save, to read them without a cell. They cannot be changed: the next cell would not know. */
export async function openSavedView(
  { savedMs }: SnapshotInfo,
  info: SavedFiles,
  readBlob: ReadBlob,
): Promise<WorkspaceFiles> {
  const saved = new Map((await readFileList(readBlob(info.sha256))).map((file) => [file.path, file]));
  const facts = ({ path, size }: SavedFile): FileFacts => ({ path, size, modifiedMs: savedMs });
  const find = (path: string): SavedFile => {
    const file = saved.get(checkArtifactName(path));
    if (file) return file;
    throw new CodecellError("file_missing", `there is no file ${path} in the save`);
  };
  const open = (path: string) => new SavedContent(find(path), savedMs, readBlob);
  const refuse = async (): Promise<never> => {
    throw new CodecellError("not_supported", "the files of a saved session can only be read", {
      hint: "run code in the session, which brings it back into a cell",
    });
  };
  return {
    stat: async (path) => facts(find(path)),
    open: async (path) => open(path),
    async read(path, options = {}) {
      const file = open(path);
      const data = await file.read({ ...options, maxBytes: options.maxBytes ?? defaultReadBytes });
      return { data, size: file.size };
    },
    async stream(path, range) {
      const file = open(path);
      const close = () => file[Symbol.asyncDispose]();
      return { size: file.size, modifiedMs: savedMs, data: file.chunks(range), [Symbol.asyncDispose]: close };
    },
    async list({ prefix = "", after = "", limit = 1000 }: ListOptions = {}) {
      const paths = [...saved.keys()].filter((path) => path.startsWith(prefix) && path > after).sort();
      const page = paths.slice(0, Math.min(Math.max(1, Math.floor(limit)), 10_000));
      const next = paths.length > page.length ? page.at(-1) : undefined;
      const files = page.map((path) => facts(find(path)));
      return { files, ...(next === undefined ? {} : { next }), leftOut: 0, truncated: false };
    },
    write: refuse,
    remove: refuse,
    async [Symbol.asyncDispose]() {},
  };
}

/** One saved file. Reads that follow each other share one stream of the store. */
class SavedContent implements OpenFile {
  readonly size: number;
  readonly modifiedMs: number;
  readonly changedMs: number;
  readonly identity: string;
  readonly #file: SavedFile;
  readonly #readBlob: ReadBlob;
  #stream: AsyncIterator<Uint8Array> | undefined;
  #position = 0;
  #rest: Uint8Array = new Uint8Array();

  constructor(file: SavedFile, savedMs: number, readBlob: ReadBlob) {
    this.#file = file;
    this.#readBlob = readBlob;
    this.size = file.size;
    this.modifiedMs = savedMs;
    this.changedMs = savedMs;
    this.identity = file.sha256;
  }

  async readInto(buffer: Uint8Array, position: number): Promise<number> {
    if (this.#stream === undefined || position !== this.#position) await this.#seek(position);
    let length = 0;
    while (length < buffer.length) {
      if (this.#rest.length === 0 && !(await this.#next())) break;
      const taken = this.#rest.subarray(0, buffer.length - length);
      buffer.set(taken, length);
      length += taken.length;
      this.#position += taken.length;
      this.#rest = this.#rest.subarray(taken.length);
    }
    // The store compares the hash after the last byte: damaged bytes must not look like the end of a good file.
    if (this.#position >= this.size && this.#rest.length === 0) await this.#next();
    return length;
  }

  read(range: ByteRange & { readonly maxBytes: number }): Promise<Uint8Array> {
    return readRange(this, this.#file.path, range);
  }

  chunks(range: ByteRange = {}): AsyncGenerator<Uint8Array, void, void> {
    return readChunks(this, this.#file.path, pieceBytes, range);
  }

  async isUnchanged(): Promise<boolean> {
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stream?.return?.();
    this.#stream = undefined;
  }

  /** The store skips what is before: a range at the end of a large file costs as much as one at its start. */
  async #seek(position: number): Promise<void> {
    await this[Symbol.asyncDispose]();
    this.#stream = this.#readBlob(this.#file.sha256, position)[Symbol.asyncIterator]();
    this.#position = position;
    this.#rest = new Uint8Array();
  }

  async #next(): Promise<boolean> {
    const step = await this.#stream?.next();
    if (step === undefined || step.done) return false;
    this.#rest = step.value;
    return true;
  }
}
