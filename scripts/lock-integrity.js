// npm run lock:integrity: adds the hashes that lock files lack, from what the registry says about the same versions. Works on
// copies: nothing is installed and no other line of a lock file changes.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const read = (file) => JSON.parse(readFileSync(file, "utf8"));

/** The name and version of each entry of a lock file, with the entry. */
const entries = ({ packages }) =>
  Object.entries(packages)
    .filter(([path, { link }]) => path !== "" && !link)
    .map(([path, entry]) => ({
      path,
      entry,
      id: `${entry.name ?? path.split("node_modules/").at(-1)}@${entry.version}`,
    }));

function resolvedNow(folder) {
  const copy = mkdtempSync(join(tmpdir(), "codecell-lock-"));
  try {
    copyFileSync(join(folder, "package.json"), join(copy, "package.json"));
    const argv = ["install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund"];
    const { status } = spawnSync("npm", argv, { cwd: copy, stdio: ["ignore", "ignore", "inherit"], timeout: 300_000 });
    if (status !== 0) throw new Error(`npm could not resolve the packages of ${folder}`);
    return new Map(entries(read(join(copy, "package-lock.json"))).map(({ id, entry }) => [id, entry.integrity]));
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

for (const folder of [root, join(root, "test/clients")]) {
  const file = join(folder, "package-lock.json");
  const lock = read(file);
  const known = resolvedNow(folder);
  for (const { path, entry, id } of entries(lock)) {
    if (entry.integrity !== undefined) continue;
    const { version, ...rest } = entry;
    const integrity = known.get(id);
    if (integrity === undefined) console.log(`${file}: the registry does not know ${id}`);
    else lock.packages[path] = { version, integrity, ...rest };
  }
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
}
