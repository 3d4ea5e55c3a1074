import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** What a build reads, apart from installed packages. */
const inputs = [
  "src",
  "dashboard",
  "scripts",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "tsconfig.build.json",
];
/** The last files that a build writes. */
const last = "dist/bundled/mcp-listings";

/**
 * Whether dist is newer than everything that it is built from. The times of directories count, too: they change when a file is
 * removed. `npm ci` has just built it, and another build would say nothing new.
 */
export function isBuilt(root) {
  const changed = inputs.flatMap((name) => timesBelow(join(root, name)));
  const built = timesBelow(join(root, last));
  return built.length > 0 && Math.min(...built) > Math.max(...changed);
}

function timesBelow(path) {
  const info = statSync(path, { throwIfNoEntry: false });
  if (info === undefined) return [];
  const names = info.isDirectory() ? readdirSync(path) : [];
  return [info.mtimeMs, ...names.flatMap((name) => timesBelow(join(path, name)))];
}
