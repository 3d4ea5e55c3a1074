import { readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeDirectories } from "../lib/files/make-directories.ts";
import { packageRoot } from "../lib/files/package-root.ts";

/** One file of the kernel. */
export interface KernelSource {
  /** path relative to the package, such as `worker/shell.py` */
  readonly name: string;
  readonly data: Buffer;
}

/** All files of the Python kernel. */
export async function kernelSources(): Promise<KernelSource[]> {
  const source = join(packageRoot(), "python", "codecell_kernel");
  const names = (await readdir(source, { recursive: true })).filter((name) => name.endsWith(".py")).sort();
  return await Promise.all(names.map(async (name) => ({ name, data: await readFile(join(source, name)) })));
}

/** Writes the kernel's files into a directory that is mounted in cells. */
export async function writeKernelSources(directory: string, sources: readonly KernelSource[]): Promise<void> {
  for (const folder of new Set(sources.map(({ name }) => dirname(name)))) {
    await makeDirectories(join(directory, folder), 0o755);
  }
  for (const { name, data } of sources) await writeFile(join(directory, name), data, { mode: 0o644 });
}
