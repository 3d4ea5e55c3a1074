import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { CodecellError } from "../lib/errors.ts";
import { descriptorMountId } from "../lib/files/mountinfo.ts";

/** Linux's O_PATH, which Node does not define: a descriptor of a location, without read permission. */
const O_PATH = 0o10000000;

/**
 * An open directory whose entries are opened without following links and without resolving its path again. The attack: after
 * `a/b` was checked and before it is opened, a program replaces `a` by a link that leads out.
 *
 * Node has no openat(2). On Linux `/proc/self/fd/N/name` does the same: the OS starts at the open directory, even if it was
 * moved. Elsewhere a real path is used, and the opened file is compared afterwards with the one at that path. There a program
 * that wins several races in a row can still make us open another file, but not through a link in the last component.
 */
export class Directory implements AsyncDisposable {
  readonly #handle: FileHandle;
  readonly #base: string;
  readonly #isAnchored: boolean;
  readonly #mounts: ReadonlySet<string> | undefined;
  readonly #opening = new Set<Promise<FileHandle>>();
  #closing: Promise<void> | undefined;

  private constructor(
    handle: FileHandle,
    base: string,
    { isAnchored, mounts }: { isAnchored: boolean; mounts: ReadonlySet<string> | undefined },
  ) {
    this.#handle = handle;
    this.#base = base;
    this.#isAnchored = isAnchored;
    this.#mounts = mounts;
  }

  /**
   * Opens a directory that the host chose. Links in its path are trusted, but its last component must not be a link. Entries on
   * other mounts than `mounts` are refused; default: none are.
   */
  static async open(
    path: string,
    options: { anchored?: boolean; mounts?: ReadonlySet<string> | undefined } = {},
  ): Promise<Directory> {
    if (constants.O_NOFOLLOW === undefined || constants.O_DIRECTORY === undefined)
      throw new CodecellError("internal", "this platform cannot open files without following links");
    const { anchored = await hasDescriptorPaths(), mounts } = options;
    const handle = await open(path, directoryFlags(anchored));
    try {
      const base = anchored ? descriptorPath(handle) : await realpath(path);
      return new Directory(handle, base, { isAnchored: anchored, mounts });
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Path of the directory itself for a system call; valid while it is open. */
  get path(): string {
    // The number of a closed descriptor may have been reused for another directory.
    if (this.#closing) throw new CodecellError("internal", "the directory is closed");
    return this.#base;
  }

  /** Whether `path` and `entry` lead to this directory even if it is renamed. */
  get isAnchored(): boolean {
    return this.#isAnchored;
  }

  /** Path of an entry for a system call that does not follow links; valid while the directory is open. */
  entry(name: string): string {
    // The attack: a name with a slash, which the OS would resolve through links.
    if (name === "" || name === "." || name === ".." || /[/\0]/.test(name))
      throw new CodecellError("internal", "invalid name of a directory entry");
    return join(this.path, name);
  }

  async openDirectory(name: string): Promise<Directory> {
    const handle = await this.#open(name, directoryFlags(this.#isAnchored));
    const base = this.#isAnchored ? descriptorPath(handle) : join(this.#base, name);
    return new Directory(handle, base, { isAnchored: this.#isAnchored, mounts: this.#mounts });
  }

  /** Opens an entry that is not a link. O_NONBLOCK: a pipe without a writer, or a lease, would block forever. */
  openFile(name: string, flags: number, mode?: number): Promise<FileHandle> {
    return this.#open(name, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY, mode);
  }

  /** What an entry is, without following a link. */
  async lstat(name: string): Promise<Stats> {
    if (this.#mounts === undefined) return lstat(this.entry(name));
    const handle = await this.#open(name, O_PATH | constants.O_NOFOLLOW);
    try {
      return await handle.stat();
    } finally {
      await handle.close();
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= Promise.allSettled(this.#opening).then(() => this.#handle.close());
    return this.#closing;
  }

  async #open(name: string, flags: number, mode?: number): Promise<FileHandle> {
    const opening = this.#openVerified(this.entry(name), flags, mode);
    this.#opening.add(opening);
    return opening.finally(() => this.#opening.delete(opening));
  }

  async #openVerified(path: string, flags: number, mode?: number): Promise<FileHandle> {
    const handle = await open(path, flags, mode);
    if (this.#isAnchored && this.#mounts === undefined) return handle;
    try {
      if (!this.#isAnchored) await this.#verify(path, handle);
      if (this.#mounts) await refuseOtherMount(handle, this.#mounts);
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async #verify(path: string, opened: FileHandle): Promise<void> {
    const isHere =
      (await realpath(this.#base)) === this.#base &&
      isSameFile(await lstat(this.#base), await this.#handle.stat()) &&
      isSameFile(await lstat(path), await opened.stat());
    if (!isHere)
      throw new CodecellError("file_refused", "the file was replaced while it was being opened", {
        hint: "try again when no program changes it",
      });
  }
}

/** Walks down from an open directory and returns the last one; the ones between are closed. */
export async function withDirectory<T>(
  root: Directory,
  parts: readonly string[],
  use: (directory: Directory) => Promise<T>,
  step: (parent: Directory, name: string) => Promise<Directory> = (parent, name) => parent.openDirectory(name),
): Promise<T> {
  let directory = root;
  try {
    for (const part of parts) {
      const parent = directory;
      directory = await step(parent, part);
      if (parent !== root) await parent[Symbol.asyncDispose]();
    }
    return await use(directory);
  } finally {
    if (directory !== root) await directory[Symbol.asyncDispose]();
  }
}

/** By the opened file and not by its path, which a program may rename meanwhile. */
async function refuseOtherMount({ fd }: FileHandle, mounts: ReadonlySet<string>): Promise<void> {
  const mount = await descriptorMountId(fd);
  if (mount !== undefined && mounts.has(mount)) return;
  throw new CodecellError("file_refused", "the file is on a bind mount in the workspace, or on a later mount", {
    hint: "copy it into the workspace",
  });
}

function directoryFlags(anchored: boolean): number {
  return constants.O_DIRECTORY | constants.O_NOFOLLOW | (anchored ? O_PATH : constants.O_RDONLY);
}

function descriptorPath(handle: FileHandle): string {
  return `/proc/self/fd/${handle.fd}`;
}

/** Whether /proc exists and shows this process: a container may mask it. */
async function hasDescriptorPaths(): Promise<boolean> {
  if (process.platform !== "linux") return false;
  const handle = await open("/", constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    return isSameFile(await handle.stat(), await stat(`${descriptorPath(handle)}/.`));
  } catch {
    return false;
  } finally {
    await handle.close();
  }
}

function isSameFile(a: Stats, b: Stats): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}
