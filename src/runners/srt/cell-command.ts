import { kernelBootstrap } from "../kernel-bootstrap.ts";
import type { CellMount } from "../linux/mounts/mounts.ts";
import type { PythonInstallation } from "../linux/python/python.ts";

/** The configuration that `python/codecell_kernel/entry/srt.py` reads. */
export interface SrtCellConfig {
  readonly workspace: string;
  /** host directories with their identities, so that the cell can check that it got the same ones */
  readonly identities: readonly { readonly path: string; readonly identity: string }[];
  /** denied directories, which the cell closes */
  readonly denied: readonly string[];
  readonly files: number;
  readonly diskBytes: number;
  readonly fileBytes: number;
  readonly nprocLimit: number;
  readonly dataLimit: number;
  readonly affinity: readonly number[];
  /** the system call filter in hexadecimal */
  readonly filter: string;
  readonly guard: string;
}

/** Pure: the shell command that starts the supervisor. It must not contain anything that a cell may not read. */
export function cellCommand(python: string, kernelDirectory: string, config: SrtCellConfig): string {
  const bootstrap = kernelBootstrap("srt", "sys.argv[1]");
  const words = [python, "-I", "-S", "-B", "-c", bootstrap, kernelDirectory, JSON.stringify(config)];
  return `exec ${words.map(quoted).join(" ")}`;
}

/** Quotes a word for a POSIX shell, so that a path cannot inject shell code. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** An interpreter at its host path. */
export interface PythonOnHost {
  /** import directories */
  readonly path: readonly string[];
  /** directories that a cell needs besides /usr */
  readonly directories: readonly string[];
  readonly libraryPath?: string;
}

/** Maps the paths in a cell back to host paths, because srt cannot map paths. */
export function pythonOnHost({ mounts, path, libraryPath }: PythonInstallation): PythonOnHost {
  const onHost = (inside: string) => {
    const mount = mounts.find(({ target }) => inside === target || inside.startsWith(`${target}/`));
    return mount ? mount.source + inside.slice(mount.target.length) : inside;
  };
  return {
    path: path.map(onHost),
    directories: mounts.map(({ source }) => source),
    ...(libraryPath === undefined ? {} : { libraryPath: onHost(libraryPath) }),
  };
}

/** The host directories of a cell, and the denied paths in them. */
export function hostPaths(mounts: readonly CellMount[]) {
  return {
    mounts: mounts
      .filter(({ rule }) => rule !== "fs.workspace")
      .map(({ source, readOnly }) => ({ path: source, readOnly })),
    denied: mounts.flatMap(({ source, deny }) => deny.map(({ path }) => `${source}/${path}`)),
  };
}
