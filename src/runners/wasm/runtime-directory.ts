import { createHash, randomBytes } from "node:crypto";
import { chmod, copyFile, lstat, mkdir, readdir, readFile, rename, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { CodecellError } from "../../lib/errors.ts";
import { makeDirectories } from "../../lib/files/make-directories.ts";
import { stateDirectory } from "../../lib/files/state-directory.ts";
import type { PackageFiles } from "./package-files.ts";

const pyodideFiles = ["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"];
/** The folders of the kernel that Pyodide needs. Here the supervisor is JavaScript, and there are no entry processes. */
const kernelFolders = ["", "shared", "prompt", "worker"];
const kernelPlace = "python/codecell_kernel";
const layoutVersion = 1;
const unusedDays = 14;
const asRoot = process.getuid?.() === 0;
/** If codecell runs as root, the cell has another user, who must read these files. They contain only published code. */
const directoryMode = asRoot ? 0o755 : 0o700;
const fileMode = asRoot ? 0o644 : 0o600;

/** The default location: the user's state directory or, for root, a directory that the cell's own user can read. */
export function defaultRuntimeRoot(environment: NodeJS.ProcessEnv = process.env): string {
  return join(stateDirectory(environment), "wasm");
}

/**
 * A directory with all files that a cell may read. Its name is a hash of its contents, so an update never changes the files
 * of a running cell. It is created with one rename, so two processes that prepare it at once use the same directory.
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
  for (const { path, name } of await ownSources(files)) hash.update(`\0${name}\0`).update(await readFile(path));
  for (const name of pyodideFiles) hash.update(`\0${(await lstat(join(files.pyodide, name))).size}`);
  return hash.digest("hex").slice(0, 24);
}

/** Our own files and their names in the directory, in the order of the names: the same for every place of installation. */
async function ownSources(files: PackageFiles): Promise<{ readonly path: string; readonly name: string }[]> {
  const list = async (from: string, to: string, ending: string) =>
    (await readdir(from))
      .filter((name) => name.endsWith(ending))
      .map((name) => ({ path: join(from, name), name: join(to, name) }));
  const kernel = kernelFolders.map((folder) => list(join(files.kernel, folder), join(kernelPlace, folder), ".py"));
  const sources = (await Promise.all([list(files.guest, "guest", ".js"), ...kernel])).flat();
  return sources.sort((one, other) => (one.name < other.name ? -1 : 1));
}

async function install(root: string, directory: string, files: PackageFiles): Promise<void> {
  const staging = join(root, `.staging-${randomBytes(8).toString("hex")}`);
  try {
    const kernel = kernelFolders.map((folder) => join(kernelPlace, folder));
    for (const part of ["", "guest", "pyodide", "python", ...kernel]) {
      await mkdir(join(staging, part), { mode: directoryMode });
      await chmod(join(staging, part), directoryMode); // independent of the umask
    }
    const copy = async (from: string, to: string) => {
      await copyFile(from, join(staging, to));
      await chmod(join(staging, to), fileMode);
    };
    for (const { path, name } of await ownSources(files)) await copy(path, name);
    for (const name of pyodideFiles) await copy(join(files.pyodide, name), `pyodide/${name}`);
    await writeFile(join(staging, "guest", "package.json"), '{"type":"module"}\n', { mode: fileMode });
    await rename(staging, directory);
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    if (!(await isThere(directory))) throw error;
  }
}

/** Stops another user from planting code that would run as this user. */
async function assertOwn(directory: string): Promise<void> {
  const { uid, mode } = await lstat(directory);
  const isOwn = process.getuid === undefined || uid === process.getuid();
  if (isOwn && (mode & 0o022) === 0) return;
  throw new CodecellError(
    "cell_start_failed",
    "the WASM runtime directory belongs to another user, or others can write to it",
    {
      hint: "remove it, or set the option runtimeDir to another directory",
      details: { directory },
    },
  );
}

/** Removes old versions that no cell has used for long, and incomplete directories of killed processes. */
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
