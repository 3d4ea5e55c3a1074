import { execFile } from "node:child_process";
import { closeSync, openSync, readSync } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { dirname, isAbsolute, join, relative } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { CodecellError, messageOf } from "../../../lib/errors.ts";
import { isOutOfDescriptors } from "../../../lib/files/no-descriptors.ts";
import { ShortMemory } from "../../../lib/files/short-memory.ts";
import { type CellPackages, libcQuestion, packagesTarget, pathWithPackages } from "../../cell-packages.ts";
import { recallPython, rememberPython } from "./remembered-python.ts";

export interface PythonInstallation {
  /** real path on the host */
  readonly executable: string;
  /** path in a cell */
  readonly executableInside: string;
  readonly version: readonly [major: number, minor: number, micro: number];
  /** the bytecode version that it can load */
  readonly bytecode: string;
  /** read-only mounts that a cell needs besides /usr; sources are host paths */
  readonly mounts: readonly { readonly source: string; readonly target: string }[];
  /** import directories in a cell: the standard library, then packages */
  readonly path: readonly string[];
  /** directory of its shared library in a cell, if the linker would look for it at the host path */
  readonly libraryPath?: string;
  /** its C library, such as `glibc 2.36`; absent: unknown */
  readonly libc?: string;
}

export interface FindPythonOptions {
  /** directories to search after the default ones, as in PATH */
  readonly searchPath?: readonly string[];
  /** the cell has another uid than codecell, so every parent directory must be accessible to others */
  readonly forOtherUid?: boolean;
  /** results by executable, kept by the caller */
  readonly cache?: Map<string, Promise<PythonInstallation>>;
  /** timeout for each candidate */
  readonly timeoutMs?: number;
  readonly memory?: ShortMemory;
}

const oldestMinor = 9;
const keepAnswerMs = 600_000;
/** Timeouts for a busy machine: shorter while `auto` can still choose another runner. */
export const probeTimeoutMs = { quick: 2_000, patient: 15_000 };
const inside = { base: "/opt/python", environment: "/opt/venv" } as const;
const choose = `set kernel.python to the absolute path of a Python 3.${oldestMinor} or newer, or remove it`;
const hint = "apt install python3 (Debian, Ubuntu), dnf install python3 (Fedora), or set kernel.python";

const question = `import sys, json, sysconfig
${libcQuestion}
try: from importlib.util import MAGIC_NUMBER
except ImportError: MAGIC_NUMBER = "old"
print(json.dumps({"bytecode": repr(MAGIC_NUMBER), "executable": getattr(sys, "_base_executable", None) or sys.executable, "version": list(sys.version_info[:3]),
  "prefix": sys.prefix, "base": sys.base_prefix, "path": sys.path,
  "libc": libc(), "shared": bool(sysconfig.get_config_var("Py_ENABLE_SHARED"))}))`;
const libcText = z.string().regex(/^(?:glibc|musl) \d+\.\d+$/);
const answerSchema = z.object({
  executable: z.string().startsWith("/"),
  version: z.tuple([z.int(), z.int(), z.int()]),
  bytecode: z.string(),
  prefix: z.string().startsWith("/"),
  base: z.string().startsWith("/"),
  path: z.array(z.string()),
  shared: z.boolean(),
  libc: libcText.nullable().catch(null),
});

/** Finds the interpreter for cells: the requested one, or else the first that works. The error says why none does. */
export async function findPython(requested?: string, options: FindPythonOptions = {}): Promise<PythonInstallation> {
  if (requested !== undefined) return examined(requested, options);
  const directories = ["/usr/bin", "/usr/local/bin", ...(options.searchPath ?? [])].filter(isAbsolute);
  const reasons: string[] = [];
  for (const candidate of [...new Set(directories)].map((directory) => join(directory, "python3"))) {
    if (!isProgram(candidate)) continue;
    try {
      return await examined(candidate, options);
    } catch (error) {
      if (isOutOfDescriptors(error)) throw error;
      reasons.push(messageOf(error));
    }
  }
  throw new CodecellError("runner_unavailable", ["no Python 3.9 or newer was found", ...reasons].join("; "), { hint });
}

/** findPython with a cache: each interpreter is examined once. */
export function pythonFinder(
  forOtherUid: boolean,
  { runtimeDir }: { runtimeDir?: string | undefined } = {},
): (requested: string | undefined, options?: { timeoutMs?: number; isFresh?: boolean }) => Promise<PythonInstallation> {
  const cache = new Map<string, Promise<PythonInstallation>>();
  const memory = new ShortMemory("python", { keepMs: keepAnswerMs, runtimeDir });
  return (requested, { timeoutMs = probeTimeoutMs.patient, isFresh = false } = {}) =>
    findPython(requested, { forOtherUid, cache, timeoutMs, ...(isFresh ? {} : { memory }) });
}

/** Pure: the same interpreter with packages, which cells see as one more part of it: read-only and on its path. */
export function pythonWithPackages(
  python: PythonInstallation,
  packages: Pick<CellPackages, "directory"> | undefined,
): PythonInstallation {
  if (packages === undefined) return python;
  return {
    ...python,
    mounts: [...python.mounts, { source: packages.directory, target: packagesTarget }],
    path: pathWithPackages(python.path, packagesTarget),
  };
}

function examined(executable: string, options: FindPythonOptions): Promise<PythonInstallation> {
  const key = `${options.forOtherUid ? "other" : "own"}:${executable}`;
  const known = options.cache?.get(key);
  if (known) return known;
  const answer = recallOrExamine(executable, options);
  options.cache?.set(key, answer);
  answer.catch(() => options.cache?.delete(key)); // a Python that is installed later can then be found
  return answer;
}

async function recallOrExamine(candidate: string, options: FindPythonOptions): Promise<PythonInstallation> {
  const { memory, forOtherUid = false, timeoutMs = probeTimeoutMs.patient } = options;
  const known = memory && (await recallPython(memory, candidate));
  if (known) return known;
  const found = await examine(candidate, forOtherUid, timeoutMs);
  if (memory) void rememberPython(memory, candidate, found);
  return found;
}

async function examine(candidate: string, forOtherUid: boolean, timeoutMs: number): Promise<PythonInstallation> {
  const facts = await ask(candidate, timeoutMs);
  const [major, minor] = facts.version;
  if (major !== 3 || minor < oldestMinor) {
    const message = `${candidate} is Python ${facts.version.join(".")}, but cells need 3.${oldestMinor} or newer`;
    throw new CodecellError("runner_unavailable", message, { hint });
  }
  const executable = await realpath(facts.executable);
  const base = await realpath(facts.base);
  const prefix = await realpath(facts.prefix);
  const mounts = [
    ...(isWithin(base, "/usr") ? [] : [{ source: base, target: inside.base }]),
    // a virtual environment has the packages, and its base has the interpreter and the standard library
    ...(prefix === base || isWithin(prefix, "/usr") ? [] : [{ source: prefix, target: inside.environment }]),
  ];
  if (!isWithin(executable, "/usr") && !isWithin(executable, base)) {
    throw new CodecellError("runner_unavailable", `${candidate} is outside its own prefix ${base}`, { hint: choose });
  }
  for (const { source } of mounts) {
    if (source === "/")
      throw new CodecellError("runner_unavailable", `${candidate} has / as its prefix`, { hint: choose });
    const closed = forOtherUid ? await firstClosed(source) : undefined;
    if (closed !== undefined) {
      throw new CodecellError(
        "runner_unavailable",
        `${candidate} cannot be used by the cell's uid: ${closed} is private`,
        {
          hint: `use a Python under /usr, or make it readable: chmod o+rx ${closed}`,
        },
      );
    }
  }
  const inCell = (path: string) => pathInCell(path, mounts);
  const executableInside = inCell(executable);
  if (executableInside === undefined) throw new CodecellError("internal", `${executable} is not mounted in cells`);
  const resolved = await Promise.all(facts.path.map((path) => realpath(path).catch(() => undefined)));
  const path = resolved.map((entry) => (entry === undefined ? undefined : inCell(entry)));
  return {
    executable,
    executableInside,
    version: facts.version,
    bytecode: facts.bytecode,
    mounts,
    path: [...new Set(path.filter((entry) => entry !== undefined))],
    ...(facts.libc === null ? {} : { libc: facts.libc }),
    ...(facts.shared && !isWithin(base, "/usr") ? { libraryPath: `${inside.base}/lib` } : {}),
  };
}

async function ask(candidate: string, timeout: number): Promise<z.output<typeof answerSchema>> {
  try {
    const limits = { env: {}, cwd: "/", timeout, killSignal: "SIGKILL", maxBuffer: 2 ** 20 } as const;
    const { stdout } = await promisify(execFile)(candidate, ["-I", "-c", question], limits);
    return answerSchema.parse(JSON.parse(stdout));
  } catch (error) {
    throw new CodecellError("runner_unavailable", `${candidate} ${complaintOf(error, timeout)}`, {
      hint: choose,
      cause: error,
    });
  }
}

function complaintOf(error: unknown, timeoutMs: number): string {
  // The message of the error would end with a line of the program that was run.
  if ((error as { killed?: boolean }).killed) return `did not answer within ${timeoutMs / 1000} s`;
  return `does not run as Python: ${messageOf(error).trim().split("\n").at(-1)?.slice(0, 200)}`;
}

/** False for a shim, a script that finds another Python through the caller's environment, which a cell does not have. */
function isProgram(path: string): boolean {
  try {
    const file = openSync(path, "r");
    try {
      const start = Buffer.alloc(2);
      readSync(file, start, 0, 2, 0);
      return start.toString("latin1") !== "#!";
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (isOutOfDescriptors(error)) throw error;
    return false;
  }
}

/** Undefined for a path that a cell does not see, such as an editable install in a home directory. */
function pathInCell(path: string, mounts: PythonInstallation["mounts"]): string | undefined {
  const mount = mounts.find(({ source }) => isWithin(path, source));
  if (mount) return join(mount.target, relative(mount.source, path));
  return isWithin(path, "/usr") ? path : undefined;
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`);
}

/** The first parent directory that others may not enter, or the directory itself if they may not list it. */
async function firstClosed(directory: string): Promise<string | undefined> {
  const way: string[] = [];
  for (let step = directory; step !== "/"; step = dirname(step)) way.unshift(step);
  for (const step of way) {
    const needed = step === directory ? 0o005 : 0o001;
    if (((await stat(step)).mode & needed) !== needed) return step;
  }
  return undefined;
}
