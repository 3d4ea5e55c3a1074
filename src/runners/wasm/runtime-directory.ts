import { createHash, randomBytes } from "node:crypto";
import { chmod, copyFile, lstat, mkdir, readdir, readFile, rename, rm, utimes, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join, relative } from "node:path";
import process from "node:process";
import { CodecellError } from "../../lib/errors.ts";
import { makeDirectories } from "../../lib/files/make-directories.ts";
import type { PackageFiles } from "./package-files.ts";

const pyodideFiles = ["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"];
/** What Pyodide needs of the kernel: here the supervisor is JavaScript, and there are no processes to enter. */
const kernelFolders = ["", "shared", "worker"];
const layoutVersion = 1;
const unusedDays = 14;
const asRoot = process.getuid?.() === 0;
/** As root the cell has another user, who must read these files; they hold nothing but published code. */
const directoryMode = asRoot ? 0o755 : 0o700;
const fileMode = asRoot ? 0o644 : 0o600;

/** The default place: the user's state directory, or for root a place that the cell's own user can reach. */
export function defaultRuntimeRoot(environment: NodeJS.ProcessEnv = process.env): string {
  const state = environment.XDG_STATE_HOME;
  if (state?.startsWith("/")) return join(state, "codecell", "wasm");
  return asRoot ? "/var/lib/codecell/wasm" : join(homedir(), ".local", "state", "codecell", "wasm");
}

/**
 * A directory that holds all that a cell may read, named by its contents, so that an update never changes files under a
 * living cell. It appears by one rename: of two processes that prepare it at once, both use the first one's.
 */
export async function prepareRuntimeDirectory(root: string, files: PackageFiles): Promise<string> {
  const directory = join(root, await contentKey(files));
  if (!(await isThere(directory))) {
    await makeDirectories(root, directoryMode);
    await install(root, directory, files);
    await removeUnused(root, directory);
  }
  await assertOwn(directory);
  const now = new Date();
  await utimes(directory, now, now).catch(() => {});
  return directory;
}

async function contentKey(files: PackageFiles): Promise<string> {
  const hash = createHash("sha256");
  hash.update(JSON.stringify([layoutVersion, process.version, process.arch, files.pyodideVersion]));
  for (const path of await ownSources(files)) hash.update(`\0${path}\0`).update(await readFile(path));
  for (const name of pyodideFiles) hash.update(`\0${(await lstat(join(files.pyodide, name))).size}`);
  return hash.digest("hex").slice(0, 24);
}

async function ownSources(files: PackageFiles): Promise<string[]> {
  const list = async (directory: string, ending: string) =>
    (await readdir(directory)).filter((name) => name.endsWith(ending)).map((name) => join(directory, name));
  const kernel = await Promise.all(kernelFolders.map((folder) => list(join(files.kernel, folder), ".py")));
  return [...(await list(files.guest, ".js")), ...kernel.flat()].sort();
}

async function install(root: string, directory: string, files: PackageFiles): Promise<void> {
  const staging = join(root, `.staging-${randomBytes(8).toString("hex")}`);
  try {
    const kernel = kernelFolders.map((folder) => join("python/codecell_kernel", folder));
    for (const part of ["", "guest", "pyodide", "python", ...kernel]) {
      await mkdir(join(staging, part), { mode: directoryMode });
      await chmod(join(staging, part), directoryMode); // whatever the umask took
    }
    const copy = async (from: string, to: string) => {
      await copyFile(from, join(staging, to));
      await chmod(join(staging, to), fileMode);
    };
    for (const path of await ownSources(files)) {
      const isKernel = path.endsWith(".py");
      const name = relative(isKernel ? files.kernel : files.guest, path);
      await copy(path, join(isKernel ? "python/codecell_kernel" : "guest", name));
    }
    for (const name of pyodideFiles) await copy(join(files.pyodide, name), `pyodide/${name}`);
    await writeFile(join(staging, "guest", "package.json"), '{"type":"module"}\n', { mode: fileMode });
    await rename(staging, directory);
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    if (!(await isThere(directory))) throw error;
  }
}

/** Code that someone else could write would run with our name. */
async function assertOwn(directory: string): Promise<void> {
  const { uid, mode } = await lstat(directory);
  const isOwn = process.getuid === undefined || uid === process.getuid();
  if (isOwn && (mode & 0o022) === 0) return;
  throw new CodecellError(
    "cell_start_failed",
    "the WASM runtime directory belongs to someone else, or others may write it",
    {
      hint: "remove it, or choose another with the option runtimeDir",
      details: { directory },
    },
  );
}

/** Older versions that no cell started from for a while, and what a killed process left half-made. */
async function removeUnused(root: string, current: string): Promise<void> {
  for (const name of await readdir(root)) {
    const path = join(root, name);
    if (path === current || !/^(?:[0-9a-f]{24}|\.staging-[0-9a-f]{16})$/.test(name)) continue;
    const info = await lstat(path).catch(() => undefined);
    const ageMs = Date.now() - (info?.mtimeMs ?? Date.now());
    const limitMs = name.startsWith(".") ? 3_600_000 : unusedDays * 86_400_000;
    if (ageMs > limitMs) await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}

async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined;
}
