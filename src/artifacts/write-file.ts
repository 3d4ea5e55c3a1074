import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { chown, type FileHandle, lstat, mkdir, opendir, rename, rmdir, stat, unlink } from "node:fs/promises";
import { CodecellError } from "../lib/errors.ts";
import { printable } from "../policy/file/problem.ts";
import { type Directory, withDirectory } from "./directory.ts";
import { accessing } from "./file-errors.ts";
import type { FileSource } from "./workspace-file.ts";

/** How a file is written. */
export interface WriteOptions {
  readonly maxBytes: number;
  /** permission bits; default 0644 */
  readonly mode?: number;
  /** owner of the file and its new directories, if the cell has its own uid */
  readonly ownerUid?: number;
  /** default: the same number as `ownerUid` */
  readonly ownerGid?: number;
  readonly signal?: AbortSignal;
}

/** Names of files that are still being written. */
export const unfinishedName = /^\.codecell-[0-9a-f]{32}\.part$/;

/**
 * Writes a file below a directory: under a temporary name first, then renamed, so that no program ever sees half of it. On any
 * failure, neither the partial file nor a directory created for it is left.
 */
export function writeFileBelow(
  root: Directory,
  path: string,
  source: FileSource,
  options: WriteOptions,
): Promise<{ size: number }> {
  const parts = path.split("/");
  const name = parts.pop() ?? "";
  const made: string[][] = [];
  return accessing(path, async () => {
    if (options.signal?.aborted) throw cancelled(options.signal);
    // Not by path. The attack: the directory is swapped for a link, and chown changes the link's target.
    if (options.ownerUid !== undefined && !root.isAnchored)
      throw new CodecellError("internal", "this platform cannot change the owner of files");
    if (source instanceof Uint8Array && source.length > options.maxBytes) throw tooLarge(path, options.maxBytes);
    const depth = { now: 0 };
    const step = async (parent: Directory, part: string) => {
      depth.now++;
      const isMade = await makeDirectory(parent, part);
      if (isMade) made.push(parts.slice(0, depth.now));
      const directory = await parent.openDirectory(part);
      if (isMade) await giveDirectory(directory, options);
      return directory;
    };
    try {
      return await withDirectory(root, parts, (directory) => writeEntry(directory, name, path, source, options), step);
    } catch (error) {
      for (const directory of made.reverse()) await removeEmpty(root, directory);
      throw error;
    }
  });
}

async function writeEntry(
  directory: Directory,
  name: string,
  path: string,
  source: FileSource,
  options: WriteOptions,
): Promise<{ size: number }> {
  const present = await lstat(directory.entry(name)).catch(() => undefined);
  if (present?.isDirectory())
    throw new CodecellError("file_refused", `${printable(path, 200)} is a directory`, { hint: "choose another name" });
  const unfinished = `.codecell-${randomBytes(16).toString("hex")}.part`;
  const handle = await directory.openFile(unfinished, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
  try {
    const size = await copy(source, handle, path, options);
    const { ownerUid, ownerGid = ownerUid } = options;
    if (ownerUid !== undefined && ownerGid !== undefined) await handle.chown(ownerUid, ownerGid);
    await handle.chmod((options.mode ?? 0o644) & 0o777);
    await rename(directory.entry(unfinished), directory.entry(name));
    return { size };
  } catch (error) {
    // The program may have renamed the partial file, so truncate it too.
    await handle.truncate(0).catch(() => {});
    await unlink(directory.entry(unfinished)).catch(() => {});
    throw error;
  } finally {
    await handle.close();
  }
}

async function copy(source: FileSource, handle: FileHandle, path: string, options: WriteOptions): Promise<number> {
  const chunks = source instanceof Uint8Array ? once(source) : source;
  let size = 0;
  for await (const chunk of abortable(chunks, options.signal)) {
    if (!(chunk instanceof Uint8Array)) throw new CodecellError("usage", "the content of a file must be bytes");
    if (size + chunk.length > options.maxBytes) throw tooLarge(path, options.maxBytes);
    for (let written = 0; written < chunk.length; ) {
      written += (await handle.write(chunk, written, chunk.length - written)).bytesWritten;
    }
    size += chunk.length;
  }
  return size;
}

export async function* once(chunk: Uint8Array): AsyncGenerator<Uint8Array> {
  yield chunk;
}

/** Ends at the signal even while the source is silent, so that a stalled upload can be aborted. */
export async function* abortable<T>(source: AsyncIterable<T>, signal: AbortSignal | undefined): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  // A new promise for each chunk: racing against one for the whole upload would keep every chunk in memory.
  let giveUp = () => {};
  const next = () =>
    new Promise<IteratorResult<T>>((resolve, reject) => {
      giveUp = () => reject(cancelled(signal));
      if (signal?.aborted) giveUp();
      else Promise.resolve(iterator.next()).then(resolve, reject);
    });
  const stop = () => giveUp();
  signal?.addEventListener("abort", stop, { once: true });
  let isDone = false;
  try {
    for (let piece = await next(); ; piece = await next()) {
      if (piece.done) {
        isDone = true;
        return;
      }
      yield piece.value;
    }
  } finally {
    signal?.removeEventListener("abort", stop);
    // not awaited: a generator that hangs in a read returns only when that read does
    if (!isDone) void Promise.resolve(iterator.return?.()).catch(() => {});
  }
}

async function makeDirectory(parent: Directory, name: string): Promise<boolean> {
  try {
    await mkdir(parent.entry(name), 0o755);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/**
 * Makes the cell's user the owner of a new directory. The attack: between the two steps a program swaps in another of our
 * directories, to become its owner. An empty one is harmless, since the program could remove it and create its own.
 */
async function giveDirectory(directory: Directory, { ownerUid, ownerGid = ownerUid }: WriteOptions): Promise<void> {
  if (ownerUid === undefined || ownerGid === undefined) return;
  const isOurs = (await stat(directory.path)).uid === process.geteuid?.();
  const entries = await opendir(directory.path);
  const isEmpty = (await entries.read()) === null;
  await entries.close();
  if (isOurs && isEmpty) await chown(directory.path, ownerUid, ownerGid);
}

async function removeEmpty(root: Directory, parts: readonly string[]): Promise<void> {
  const name = parts.at(-1) ?? "";
  // a directory that is no longer empty is in use
  await withDirectory(root, parts.slice(0, -1), (parent) => rmdir(parent.entry(name))).catch(() => {});
}

export function cancelled(signal: AbortSignal | undefined): CodecellError {
  return new CodecellError("aborted", "the upload was cancelled", { cause: signal?.reason });
}

export function tooLarge(path: string, maxBytes: number): CodecellError {
  return new CodecellError("too_large", `${printable(path, 200)} is larger than ${maxBytes} bytes`, {
    hint: "send a smaller file, or raise proc.disk in the policy",
    details: { maxBytes },
  });
}
