import { constants } from "node:fs";
import { type FileHandle, lstat, open, readdir, realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { CodecellError, messageOf } from "../../../lib/errors.ts";
import { diskFailure } from "../../../lib/files/disk-failure.ts";
import { makeDirectories } from "../../../lib/files/make-directories.ts";

const highestNumber = 999_999_999;

/** A directory of the host that displays are saved in, as `plot-1.png`, `plot-2.html` …; it never overwrites a file. */
export class PlotDirectory implements AsyncDisposable {
  readonly path: string;
  readonly #handle: FileHandle | undefined;
  /** the opened directory itself */
  readonly #base: string;
  #nextNumber: number;

  private constructor(path: string, handle: FileHandle | undefined, base: string, nextNumber: number) {
    this.path = path;
    this.#handle = handle;
    this.#base = base;
    this.#nextNumber = nextNumber;
  }

  /** Creates the directory if it is missing. Throws a usage error that names `shown` if files cannot be created there. */
  static async open(path: string, { shown = path, mode = 0o777 } = {}): Promise<PlotDirectory> {
    try {
      await makeDirectories(path, mode);
    } catch (error) {
      throw unusable(shown, error);
    }
    // The attack: a program that ran in this workspace earlier left a link to a directory that it may not write itself.
    if ((await lstat(path)).isSymbolicLink()) {
      const target = await realpath(path).catch(() => "its target");
      throw new CodecellError("usage", `--plots ${JSON.stringify(shown)} is a symbolic link`, {
        hint: `name the directory that you want: ${JSON.stringify(target)}`,
      });
    }
    return PlotDirectory.#opened(path, shown);
  }

  /** Keeps the directory open: replacing it by a link during the run does not redirect what is saved. */
  static async #opened(path: string, shown: string): Promise<PlotDirectory> {
    if (process.platform !== "linux") return new PlotDirectory(path, undefined, path, await firstFree(path));
    const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
    const handle = await open(path, flags).catch((error: unknown) => {
      throw unusable(shown, error);
    });
    try {
      const base = `/proc/self/fd/${handle.fd}`;
      return new PlotDirectory(path, handle, base, await firstFree(base));
    } catch (error) {
      await handle.close();
      throw unusable(shown, error);
    }
  }

  /** A number that no file of the directory has. */
  takeNumber(): number {
    const number = this.#nextNumber;
    this.#nextNumber += 1;
    return number;
  }

  /** Saves a new file, whole or not at all, and returns its name. The number is another one if that file exists meanwhile. */
  async save(number: number, extension: string, data: Uint8Array): Promise<{ name: string; number: number }> {
    for (let used = number; ; used = this.takeNumber()) {
      const name = `plot-${used}.${extension}`;
      const path = join(this.#base, name);
      // `wx` neither overwrites a file nor follows a link that a program has put there.
      const file = await open(path, "wx").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "EEXIST") return undefined;
        throw error;
      });
      if (file === undefined) continue;
      try {
        await file.writeFile(data);
        await file.close();
        return { name, number: used };
      } catch (error) {
        await file.close().catch(() => {});
        await rm(path, { force: true });
        throw error;
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle?.close();
  }
}

/** After the highest number in use, so that the files of later runs come later. */
async function firstFree(directory: string): Promise<number> {
  let highest = 0;
  for (const name of await readdir(directory)) {
    const number = Number(/^plot-(\d{1,9})\./.exec(name)?.[1] ?? 0);
    if (number > highest && number < highestNumber) highest = number;
  }
  return highest + 1;
}

function unusable(shown: string, error: unknown): CodecellError {
  const { code } = error as NodeJS.ErrnoException;
  const reason =
    code === "EEXIST" || code === "ENOTDIR"
      ? "it is not a directory"
      : (diskFailure(error)?.message.replace(/^.* cannot be used: /, "") ?? messageOf(error));
  return new CodecellError("usage", `plots cannot be saved in ${JSON.stringify(shown)}: ${reason}`, {
    hint: "name a directory that you can write with --plots DIR",
    cause: error,
  });
}
