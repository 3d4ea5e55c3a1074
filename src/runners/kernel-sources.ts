import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeDirectories } from "../lib/files/make-directories.ts";
import { packageRoot } from "../lib/files/package-root.ts";

/** One file of the kernel. */
export interface KernelSource {
  /** path relative to the package, such as `worker/shell.py` */
  readonly name: string;
  readonly data: Buffer;
}

/**
 * All files of the Python kernel. Synchronous: 60 small files take 1 ms so, and 6 ms through the thread pool, in front of the
 * first cell of every process.
 */
export function kernelSources(): KernelSource[] {
  const source = join(packageRoot(), "python", "codecell_kernel");
  const names = (readdirSync(source, { recursive: true }) as string[]).filter((name) => name.endsWith(".py")).sort();
  return names.map((name) => ({ name, data: readFileSync(join(source, name)) }));
}

/** Writes the kernel's files into a directory that is mounted in cells. */
export async function writeKernelSources(directory: string, sources: readonly KernelSource[]): Promise<void> {
  for (const folder of new Set(sources.map(({ name }) => dirname(name)))) {
    await makeDirectories(join(directory, folder), 0o755);
  }
  for (const { name, data } of sources) await writeFile(join(directory, name), data, { mode: 0o644 });
}
