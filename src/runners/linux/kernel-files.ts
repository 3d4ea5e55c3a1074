import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { access, mkdtemp, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { bundleName, bundleProgram } from "../kernel-bootstrap.ts";
import { kernelSources, writeKernelSources } from "../kernel-sources.ts";
import type { PythonInstallation } from "./python/python.ts";

const run = promisify(execFile);
const compileMs = 30_000;
const hourMs = 3_600_000;
const unusedMs = 14 * 24 * hourMs;

/** Writes the files of /.kernel: the Python kernel, compiled for the interpreter, and the filter that reports signals. */
export async function prepareKernelFiles(
  runtimeDir: string,
  python: PythonInstallation,
  notifyFilter: Buffer,
): Promise<string> {
  const files = kernelSources();
  const hash = createHash("sha256")
    .update(`${python.executable} ${python.version.join(".")} ${python.bytecode}`)
    .update(notifyFilter);
  for (const { name, data } of files) hash.update(`\0${name}\0`).update(data);
  const target = join(runtimeDir, `kernel-${hash.digest("hex").slice(0, 16)}`);
  if (await exists(target)) {
    const now = new Date();
    await utimes(target, now, now).catch(() => {});
    return target;
  }
  const draft = await mkdtemp(join(runtimeDir, "draft-"));
  const kernel = join(draft, "files");
  await writeKernelSources(join(kernel, "codecell_kernel"), files);
  await writeFile(join(kernel, "notify.bpf"), notifyFilter, { mode: 0o644 });
  const compile = ["-I", "-B", "-c", bundleProgram, kernel, join(kernel, bundleName)];
  await run(python.executable, compile, { env: {}, cwd: "/", timeout: compileMs });
  // Two host processes may prepare the same files at once. The second rename fails, and the first one's files are used.
  await rename(kernel, target).catch(async (error: unknown) => {
    if (!(await exists(target))) throw error;
  });
  await rm(draft, { recursive: true, force: true });
  await removeOldKernels(runtimeDir);
  return target;
}

/** Removes incomplete files of killed host processes, and kernels and constant files that have been unused for long. */
export async function removeOldKernels(runtimeDir: string): Promise<void> {
  for (const name of await readdir(runtimeDir)) {
    const keptMs = name.startsWith("draft-") ? hourMs : /^(?:kernel|constant)-/.test(name) ? unusedMs : undefined;
    if (keptMs === undefined) continue;
    const path = join(runtimeDir, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
    if (Date.now() - mtimeMs > keptMs) await rm(path, { recursive: true, force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
