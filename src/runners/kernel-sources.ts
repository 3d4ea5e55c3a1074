import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The Python program that runs inside cells, file by file. */
export async function kernelSources(): Promise<{ name: string; data: Buffer }[]> {
  const source = join(packageRoot(), "python", "codecell_kernel");
  const names = (await readdir(source)).filter((name) => name.endsWith(".py")).sort();
  return await Promise.all(names.map(async (name) => ({ name, data: await readFile(join(source, name)) })));
}

/** dist/runners and src/runners are both two levels below the package's root. */
function packageRoot(): string {
  return dirname(fileURLToPath(new URL("../../package.json", import.meta.url)));
}
