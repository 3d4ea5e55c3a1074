import { posix } from "node:path";
import { CodecellError } from "../../lib/errors.ts";
import type { CodeSession, CodeSessionFiles } from "../../sessions/code-session.ts";

/** How a framework names files. */
export interface WorkspaceOptions {
  /** where the workspace is in the cell; default `/workspace`, as on every runner but srt */
  readonly directory?: string;
  /** absolute directories that a framework writes to by itself; they are directories of the workspace instead */
  readonly ownDirectories?: readonly string[];
}

/** A file of a workspace. */
export type WorkspaceFile = Awaited<ReturnType<CodeSessionFiles["list"]>>["files"][number];

const maxListedFiles = 50_000;

/**
 * The files of a session by the paths that a model uses: absolute below the workspace as in the cell, or relative to it. No other path
 * is reached, on the host or in the cell.
 */
export class Workspace {
  readonly directory: string;
  readonly #session: CodeSession;
  readonly #ownDirectories: readonly string[];

  constructor(session: CodeSession, { directory = "/workspace", ownDirectories = [] }: WorkspaceOptions = {}) {
    this.#session = session;
    this.directory = posix.resolve("/", directory);
    this.#ownDirectories = ownDirectories;
  }

  /** The path below the workspace; empty: the workspace itself. Throws `file_refused` for any other path. */
  relative(path: string): string {
    const absolute = posix.resolve(this.directory, path);
    if (this.#ownDirectories.some((own) => isBelow(absolute, own))) return absolute.slice(1);
    if (isBelow(absolute, this.directory)) return absolute.slice(this.directory.length + 1);
    throw new CodecellError("file_refused", `${JSON.stringify(path.slice(0, 200))} is not in ${this.directory}`, {
      hint: `use a path in ${this.directory}`,
    });
  }

  /** The path of a file as the framework knows it. */
  absolute(relative: string): string {
    const own = `/${relative}`;
    return this.#ownDirectories.some((one) => isBelow(own, one)) ? own : posix.join(this.directory, relative);
  }

  async read(path: string, maxBytes?: number): Promise<Uint8Array> {
    const files = await this.#files();
    const { data } = await files.read(this.relative(path), maxBytes === undefined ? {} : { maxBytes });
    return data;
  }

  async write(path: string, data: Uint8Array): Promise<void> {
    await this.#session.upload(this.relative(path), data);
  }

  async remove(path: string): Promise<void> {
    await (await this.#files()).remove(this.relative(path));
  }

  /** The files below a directory, or the file itself. */
  async list(path: string): Promise<{ files: WorkspaceFile[]; isTruncated: boolean }> {
    const base = this.relative(path);
    const files = await this.#files();
    const found: WorkspaceFile[] = [];
    let after: string | undefined;
    do {
      const page = await files.list({ prefix: base, limit: 10_000, ...(after === undefined ? {} : { after }) });
      found.push(...page.files.filter((file) => isBelow(file.path, base)));
      if (page.truncated || found.length > maxListedFiles) {
        return { files: found.slice(0, maxListedFiles), isTruncated: true };
      }
      after = page.next;
    } while (after !== undefined);
    return { files: found, isTruncated: false };
  }

  #files(): Promise<CodeSessionFiles> {
    return this.#session.files();
  }
}

function isBelow(path: string, directory: string): boolean {
  return directory === "" || path === directory || path.startsWith(`${directory}/`);
}
