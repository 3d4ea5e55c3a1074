import { kernelBootstrap } from "../kernel-bootstrap.ts";
import type { CellMount } from "../linux/mounts.ts";
import type { PythonInstallation } from "../linux/python.ts";

/** What the entry in `python/codecell_kernel/entry/srt.py` reads. */
export interface SrtCellConfig {
  readonly workspace: string;
  /** directories of the host by which the cell sees that it got what was looked at here */
  readonly identities: readonly { readonly path: string; readonly identity: string }[];
  readonly files: number;
  readonly diskBytes: number;
  readonly nprocLimit: number;
  readonly dataLimit: number;
  readonly affinity: readonly number[];
  /** programs for the system call filter, as hexadecimal digits */
  readonly filter: string;
  readonly guard: string;
}

/** Pure: the shell command that starts the supervisor. It says nothing that a cell may not read. */
export function cellCommand(python: string, kernelDirectory: string, config: SrtCellConfig): string {
  const bootstrap = kernelBootstrap("srt", "sys.argv[1]");
  const words = [python, "-I", "-S", "-B", "-c", bootstrap, kernelDirectory, JSON.stringify(config)];
  return `exec ${words.map(quoted).join(" ")}`;
}

/** A word that a POSIX shell takes as it is. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** An interpreter at its place on the host. */
export interface PythonOnHost {
  /** import directories */
  readonly path: readonly string[];
  /** what a cell needs besides /usr */
  readonly directories: readonly string[];
  readonly libraryPath?: string;
}

/** Back from where other runners mount it: srt maps no paths. */
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

/** What of the host's directories a cell is given, and what in them it is not. */
export function hostPaths(mounts: readonly CellMount[]) {
  return {
    mounts: mounts
      .filter(({ rule }) => rule !== "fs.workspace")
      .map(({ source, readOnly }) => ({ path: source, readOnly })),
    denied: mounts.flatMap(({ source, deny }) => deny.map(({ path }) => `${source}/${path}`)),
  };
}
