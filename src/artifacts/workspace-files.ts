import { lstat, unlink } from "node:fs/promises";
import { CodecellError } from "../lib/errors.ts";
import { aboutPath } from "../lib/files/about-path.ts";
import { firstSignal } from "../lib/waiting/first-signal.ts";
import { printable } from "../policy/file/problem.ts";
import { denyMatcher } from "../policy/paths/deny.ts";
import { checkArtifactName } from "./artifact-name.ts";
import { Directory, withDirectory } from "./directory.ts";
import { accessing } from "./file-errors.ts";
import { type FileDeny, listFiles, maxListedParts, type WalkLimits } from "./list-files.ts";
import { type OpenFile, RegularFile } from "./regular-file.ts";
import type { ByteRange, FileFacts, FileList, FileSource, FileStream, ListOptions } from "./workspace-file.ts";
import { type WriteOptions, writeFileBelow } from "./write-file.ts";

/**
 * The host's access to the files of one workspace, while untrusted code writes there too. Paths are relative, links are never
 * followed, only regular files are read, and denied files are neither read nor written. Errors are `file_missing`,
 * `file_refused` or `too_large`.
 */
export interface WorkspaceFiles extends AsyncDisposable {
  stat(path: string): Promise<FileFacts>;
  /** Opens a file for several calls on the same content. The caller closes it. */
  open(path: string): Promise<OpenFile>;
  /** Reads a file or a range of it at once; `size` is the whole file's. At most `maxBytes`, by default 64 MiB. */
  read(
    path: string,
    options?: ByteRange & { readonly maxBytes?: number },
  ): Promise<{ readonly data: Uint8Array; readonly size: number }>;
  stream(path: string, range?: ByteRange): Promise<FileStream>;
  /** Creates or replaces a file, and creates missing directories. */
  write(path: string, source: FileSource, options: WriteOptions): Promise<{ readonly size: number }>;
  list(options?: ListOptions): Promise<FileList>;
  /** Removes a file, or a link itself; never a directory. */
  remove(path: string): Promise<void>;
}

export interface WorkspaceFilesOptions {
  /** matches denied files; default: the built-in list. Use `denyNothing` for a workspace that only a cell has written. */
  readonly deny?: FileDeny;
  readonly limits?: Partial<WalkLimits>;
  /** ids of the mounts whose files are accessed, of `visibleMounts`; default: all */
  readonly mounts?: ReadonlySet<string> | undefined;
}

const defaultReadBytes = 64 * 2 ** 20;
const defaultLimits: WalkLimits = { maxEntries: 200_000, maxDepth: maxListedParts };

/** For a private workspace, which has no host files to hide. */
export const denyNothing = (): undefined => undefined;

/** Opens a workspace by its real path on the host. */
export async function openWorkspaceFiles(root: string, options: WorkspaceFilesOptions = {}): Promise<WorkspaceFiles> {
  const directory = await Directory.open(root, { mounts: options.mounts }).catch((cause: unknown) => {
    if (cause instanceof CodecellError) throw cause;
    const isMissing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    throw new CodecellError(isMissing ? "file_missing" : "file_refused", "the workspace cannot be opened", {
      cause: aboutPath(cause, "the workspace"),
      hint: isMissing ? "create the directory first" : "use the directory's real path, not a link",
    });
  });
  return new OpenWorkspace(directory, options);
}

class OpenWorkspace implements WorkspaceFiles {
  readonly #root: Directory;
  readonly #deny: FileDeny;
  readonly #limits: WalkLimits;
  readonly #pending = new Set<Promise<unknown>>();
  readonly #opened = new Set<OpenFile>();
  readonly #ended = new AbortController();
  #closing: Promise<void> | undefined;

  constructor(root: Directory, options: WorkspaceFilesOptions) {
    this.#root = root;
    this.#deny = options.deny ?? denyMatcher([]);
    this.#limits = { ...defaultLimits, ...options.limits };
  }

  stat(path: string): Promise<FileFacts> {
    return this.#reach(path, async (directory, name) => {
      const found = await directory.lstat(name);
      if (!found.isFile())
        throw new CodecellError("file_refused", `${printable(path, 200)} is not a regular file`, {
          hint: "name a regular file",
        });
      return { path, size: found.size, modifiedMs: Math.floor(found.mtimeMs) };
    });
  }

  open(path: string): Promise<OpenFile> {
    return this.#reach(path, (directory, name) => RegularFile.open(directory, name, path));
  }

  async read(path: string, options: ByteRange & { readonly maxBytes?: number } = {}) {
    await using file = await this.open(path);
    const data = await file.read({ ...options, maxBytes: options.maxBytes ?? defaultReadBytes });
    return { data, size: file.size };
  }

  async stream(path: string, range: ByteRange = {}): Promise<FileStream> {
    const file = await this.open(path);
    this.#opened.add(file);
    const close = async () => {
      this.#opened.delete(file);
      await file[Symbol.asyncDispose]();
    };
    async function* data() {
      try {
        yield* file.chunks(range);
      } finally {
        await close();
      }
    }
    return { size: file.size, modifiedMs: file.modifiedMs, data: data(), [Symbol.asyncDispose]: close };
  }

  write(path: string, source: FileSource, options: WriteOptions) {
    return this.#track(async () => {
      this.#check(path);
      using first = firstSignal(options.signal, this.#ended.signal);
      return await writeFileBelow(this.#root, path, source, { ...options, signal: first.signal });
    });
  }

  list(options: ListOptions = {}): Promise<FileList> {
    return this.#track(() =>
      accessing("the workspace", () => listFiles(this.#root, options, this.#limits, this.#deny)),
    );
  }

  remove(path: string): Promise<void> {
    return this.#reach(path, async (directory, name) => {
      const found = await lstat(directory.entry(name));
      if (found.isDirectory())
        throw new CodecellError("file_refused", `${printable(path, 200)} is a directory`, {
          hint: "name a file in it",
        });
      await unlink(directory.entry(name));
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= (async () => {
      // An upload whose sender stalls would never end on its own.
      this.#ended.abort(new CodecellError("session_closed", "the workspace is closed"));
      // Close the descriptor last: paths in use contain its number.
      await Promise.allSettled(this.#pending);
      await Promise.all([...this.#opened].map((file) => file[Symbol.asyncDispose]()));
      await this.#root[Symbol.asyncDispose]();
    })();
    return this.#closing;
  }

  #reach<T>(path: string, use: (directory: Directory, name: string) => Promise<T>): Promise<T> {
    return this.#track(() =>
      accessing(path, async () => {
        const parts = this.#check(path).split("/");
        const name = parts.pop() ?? "";
        return withDirectory(this.#root, parts, (directory) => use(directory, name));
      }),
    );
  }

  #check(path: string): string {
    const checked = checkArtifactName(path);
    const glob = this.#deny(checked);
    if (glob === undefined) return checked;
    throw new CodecellError("file_refused", `${printable(path, 200)} is denied by ${glob}`, {
      hint: "change fs.deny in the policy; !glob removes an entry of the built-in list",
      details: { rule: "fs.deny" },
    });
  }

  async #track<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closing) throw new CodecellError("session_closed", "the workspace is closed");
    const pending = work();
    this.#pending.add(pending);
    try {
      return await pending;
    } finally {
      this.#pending.delete(pending);
    }
  }
}
