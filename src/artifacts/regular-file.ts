import { type BigIntStats, constants } from "node:fs";
import { type FileHandle, statfs } from "node:fs/promises";
import { CodecellError } from "../lib/errors.ts";
import { printable } from "../policy/file/problem.ts";
import type { Directory } from "./directory.ts";
import { accessing } from "./file-errors.ts";
import type { ByteRange } from "./workspace-file.ts";

const chunkBytes = 256 * 1024;
const largestReadBytes = 16 * 2 ** 20;

/** A file open for reading. Every call uses the same file, even if its name is reused. */
export interface OpenFile extends AsyncDisposable {
  readonly size: number;
  readonly modifiedMs: number;
  /** time of its last known change of any kind; infinite: just now, by a clock that is not the host's */
  readonly changedMs: number;
  /** changes when the content does, as far as is known */
  readonly identity: string;
  /** Fills the buffer from a position as far as the file goes; answers with the bytes read. */
  readInto(buffer: Uint8Array, position: number): Promise<number>;
  /** Reads a range at once. More than `maxBytes` is `too_large`, and no memory is taken for it. */
  read(range: ByteRange & { readonly maxBytes: number }): Promise<Uint8Array>;
  /** Yields a range in pieces, exactly as many bytes as the file had when it was opened. */
  chunks(range?: ByteRange): AsyncGenerator<Uint8Array, void, void>;
  /** Whether no change was detected since the file was opened. */
  isUnchanged(): Promise<boolean>;
  /** How many of its bytes were never written and take no space, as in a sparse file. Absent or 0: none, as far as is known. */
  holeBytes?(): Promise<number>;
}

/** ext4, xfs and tmpfs. Others store less than was written because they compress, or count it seconds later. */
const exactTypes = new Set([0xef53, 0x58465342, 0x01021994]);

/** A regular host file, open for reading. Everything uses one descriptor, so swapping its name has no effect. */
export class RegularFile implements OpenFile {
  readonly size: number;
  readonly modifiedMs: number;
  /** number of hard links */
  readonly links: number;
  /** changes when the content does, as far as the file system records it; it may miss writes through a memory map */
  readonly identity: string;
  /** time of the last change of any kind that the file system recorded */
  readonly changedMs: number;
  readonly #handle: FileHandle;
  readonly #shown: string;
  readonly #allocatedBytes: number;
  #closing: Promise<void> | undefined;

  private constructor(handle: FileHandle, shown: string, facts: BigIntStats) {
    this.#handle = handle;
    this.#shown = shown;
    this.size = Number(facts.size);
    this.#allocatedBytes = Number(facts.blocks) * 512;
    this.modifiedMs = Number(facts.mtimeNs / 1_000_000n);
    this.changedMs = Number(facts.ctimeNs / 1_000_000n);
    this.links = Number(facts.nlink);
    this.identity = identityOf(facts);
  }

  /** Opens an entry of a directory; a link, a directory or a special file is `file_refused`. */
  static async open(directory: Directory, name: string, shown = name): Promise<RegularFile> {
    return accessing(shown, async () => {
      const handle = await directory.openFile(name, constants.O_RDONLY);
      try {
        const facts = await handle.stat({ bigint: true });
        if (facts.isFile()) return new RegularFile(handle, shown, facts);
        const isDirectory = facts.isDirectory();
        const kind = isDirectory ? "a directory" : "not a regular file";
        const hint = isDirectory ? "name a file in it" : "name a regular file";
        throw new CodecellError("file_refused", `${printable(shown, 200)} is ${kind}`, { hint });
      } catch (error) {
        await handle.close();
        throw error;
      }
    });
  }

  /** Number of the open file. */
  get descriptor(): number {
    return this.#handle.fd;
  }

  /** Path of the open file for a system call on it, on Linux. */
  get descriptorPath(): string {
    return `/proc/self/fd/${this.#handle.fd}`;
  }

  /** Fills the buffer from a position as far as the file goes; answers with the bytes read. */
  readInto(buffer: Uint8Array, position: number): Promise<number> {
    return accessing(this.#shown, async () => {
      let length = 0;
      while (length < buffer.length) {
        const wanted = Math.min(buffer.length - length, largestReadBytes);
        const { bytesRead } = await this.#handle.read(buffer, length, wanted, position + length);
        if (bytesRead === 0) break;
        length += bytesRead;
      }
      return length;
    });
  }

  /** Reads a range at once. More than `maxBytes` is `too_large`, and no memory is taken for it. */
  async read(range: ByteRange & { readonly maxBytes: number }): Promise<Uint8Array> {
    return await readRange(this, this.#shown, range);
  }

  /** Yields a range in pieces, exactly as many bytes as the file had when it was opened. */
  chunks(range: ByteRange = {}): AsyncGenerator<Uint8Array, void, void> {
    return readChunks(this, this.#shown, chunkBytes, range);
  }

  /** Whether the file system recorded no change since the file was opened. */
  async isUnchanged(): Promise<boolean> {
    return identityOf(await this.#handle.stat({ bigint: true })) === this.identity;
  }

  async holeBytes(): Promise<number> {
    const missing = this.size - this.#allocatedBytes;
    if (missing <= 0) return 0;
    const { type } = await statfs(this.descriptorPath).catch(() => ({ type: 0 }));
    return exactTypes.has(type) ? missing : 0;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#handle.close();
    return this.#closing;
  }
}

type Readable = Pick<OpenFile, "size" | "readInto">;

/** `OpenFile.read`, for any kind of open file. */
export async function readRange(
  file: Readable,
  shown: string,
  range: ByteRange & { readonly maxBytes: number },
): Promise<Uint8Array> {
  const { start, end } = rangeWithin(file.size, range);
  assertReadable(shown, file.size, end - start, range.maxBytes);
  const data = new Uint8Array(end - start);
  const length = await file.readInto(data, start);
  return length === data.length ? data : data.slice(0, length);
}

/** `OpenFile.chunks`, for any kind of open file. */
export async function* readChunks(
  file: Readable,
  shown: string,
  pieceBytes: number,
  range: ByteRange,
): AsyncGenerator<Uint8Array, void, void> {
  const { start, end } = rangeWithin(file.size, range);
  for (let position = start; position < end; ) {
    const chunk = new Uint8Array(Math.min(pieceBytes, end - position));
    const length = await file.readInto(chunk, position);
    // The reader got a size, and must not mistake a truncated file for a complete one.
    if (length < chunk.length) throw becameShorter(shown);
    position += length;
    yield chunk;
  }
}

/** The part of a range within a file of this size; an invalid range is `usage`. */
function rangeWithin(
  size: number,
  { start = 0, end = Math.max(start, size) }: ByteRange,
): { start: number; end: number } {
  if (![start, end].every((at) => Number.isSafeInteger(at) && at >= 0) || start > end)
    throw new CodecellError("usage", "a range must start at 0 or later and must not end before its start");
  return { start: Math.min(start, size), end: Math.min(end, size) };
}

/** More than may be read at once is `too_large`. */
function assertReadable(shown: string, size: number, wanted: number, maxBytes: number): void {
  if (wanted <= maxBytes) return;
  const message = `${printable(shown, 200)}: ${wanted} bytes were requested; at most ${maxBytes} can be read at once`;
  throw new CodecellError("too_large", message, {
    hint: "read a part of it, or stream it",
    details: { size, maxBytes },
  });
}

function identityOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(":");
}

function becameShorter(shown: string): CodecellError {
  return new CodecellError("file_refused", `${printable(shown, 200)} became shorter while it was being read`, {
    hint: "read it again",
  });
}
