import { constants, type Stats } from "node:fs";
import { access, lstat, open, realpath, stat } from "node:fs/promises";
import { basename, dirname, extname, join, resolve } from "node:path";
import { CodecellError, messageOf } from "../../../lib/errors.ts";
import { type FileLike, writeFileAtomically } from "../../../lib/files/atomic-file.ts";
import { maxNotebookBytes } from "../../../service/notebook/read-notebook.ts";

/** Where the copy with outputs goes. */
export interface NotebookTarget {
  readonly path: string;
  /** permissions of the file */
  readonly like: FileLike;
  /** identity of its directory */
  readonly directory: { readonly dev: number; readonly ino: number };
}

export interface TargetFlags {
  readonly output?: string | undefined;
  readonly inplace?: boolean | undefined;
}

const extension = ".ipynb";

function isNotebookName(file: string): boolean {
  return extname(file).toLowerCase() === extension;
}

/** The bytes of a file, up to the size that a notebook may have. */
export async function readNotebookFile(path: string, shown: string): Promise<Buffer> {
  try {
    // Without O_NONBLOCK, opening a pipe waits for whoever writes into it.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = await file.stat();
    if (!stats.isFile()) throw new CodecellError("usage", `${shown} ${kindOf(stats)}, not a notebook`);
    if (stats.size > maxNotebookBytes) {
      throw new CodecellError("too_large", `${shown} is larger than ${maxNotebookBytes / 1024 / 1024} MiB`, {
        hint: "remove its outputs first: jupyter nbconvert --clear-output --inplace FILE",
      });
    }
    return await file.readFile();
  } catch (cause) {
    if (cause instanceof CodecellError) throw cause;
    const reasons: Record<string, string> = {
      ENOENT: "does not exist",
      EACCES: "cannot be read: permission denied",
      ENOTDIR: "has a parent that is not a directory",
    };
    const reason = reasons[(cause as NodeJS.ErrnoException).code ?? ""] ?? "cannot be read";
    throw new CodecellError("usage", `${shown} ${reason}`, { cause });
  }
}

/**
 * Decides where the outputs go, and checks before the notebook runs that they can be written there. The default is a new file
 * beside the notebook: nobody loses a notebook by running it.
 */
export async function notebookTarget(source: string, flags: TargetFlags, cwd: string): Promise<NotebookTarget> {
  if (flags.inplace && flags.output !== undefined) {
    throw new CodecellError("usage", "--inplace and --output cannot be combined");
  }
  const own = await stat(source);
  if (flags.inplace) {
    const path = await realpath(source); // a link stays a link
    return { path, like: own, directory: await checkDirectory(path, flags) };
  }
  const path = flags.output === undefined ? besideNotebook(source) : resolve(cwd, flags.output);
  const shown = flags.output ?? basename(path);
  if (flags.output === "-") throw new CodecellError("usage", "--output needs a file, not -");
  const directory = await checkDirectory(path, flags);
  await checkReplaceable(path, shown, own);
  return { path, like: { mode: own.mode }, directory };
}

export async function writeNotebookFile({ path, like, directory }: NotebookTarget, text: string): Promise<void> {
  try {
    const { dev, ino } = await stat(dirname(path));
    // The attack: a cell that may write this directory's parent puts a link to another directory in its place.
    if (dev !== directory.dev || ino !== directory.ino) throw new Error("its directory was replaced meanwhile");
    await writeFileAtomically(path, text, like);
  } catch (cause) {
    throw new CodecellError("disk_failed", `the outputs could not be written to ${path}: ${messageOf(cause)}`, {
      hint: "free some space, or use --output FILE",
      cause,
    });
  }
}

function besideNotebook(source: string): string {
  return join(dirname(source), `${basename(source, extname(source))}.executed${extension}`);
}

async function checkDirectory(path: string, { output }: TargetFlags): Promise<NotebookTarget["directory"]> {
  try {
    await access(dirname(path), constants.W_OK);
    const { dev, ino } = await stat(dirname(path));
    return { dev, ino };
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    const what =
      output === undefined ? `the directory of the notebook cannot be written` : `${output} cannot be written`;
    throw new CodecellError("usage", isMissing ? `${output} is in a directory that does not exist` : what, {
      hint: "use --output FILE with a file in a directory of yours; nothing was run",
      cause,
    });
  }
}

/** The attack, or the slip: `--output` names the notebook itself, a device, or a file that is no notebook. */
async function checkReplaceable(path: string, shown: string, own: Stats): Promise<void> {
  const there = await lstat(path).catch(() => undefined);
  if (there === undefined) return;
  const target = there.isSymbolicLink() ? await stat(path).catch(() => undefined) : there;
  if (target !== undefined && target.dev === own.dev && target.ino === own.ino) {
    throw new CodecellError("usage", `${shown} is the notebook itself`, { hint: "use --inplace to replace it" });
  }
  if (!there.isFile()) throw new CodecellError("usage", `${shown} ${kindOf(there)}; nothing was run`);
  if (!isNotebookName(path)) {
    throw new CodecellError("usage", `${shown} exists and is not a notebook`, {
      hint: `use a name that ends in ${extension}, or remove the file; nothing was run`,
    });
  }
}

function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return "is a directory";
  return stats.isSymbolicLink() ? "is a link" : "is not a regular file";
}
