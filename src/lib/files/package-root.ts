import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const cache: { root?: string } = {};

/** The directory of codecell's package.json. Searched upwards, because this code runs from src, from dist and from a bundle. */
export function packageRoot(): string {
  if (cache.root !== undefined) return cache.root;
  let directory = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(directory, "package.json"))) directory = dirname(directory);
  cache.root = directory;
  return directory;
}
