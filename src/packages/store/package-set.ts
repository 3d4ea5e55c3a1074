import { createHash } from "node:crypto";
import { chmod, mkdir, readdir, readFile, rename, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { removeTree } from "../../lib/files/remove-tree.ts";
import type { PackageLimits } from "../package-limits.ts";
import type { PackageProgress } from "../package-progress.ts";
import type { PreparedPackage } from "../prepared-packages.ts";
import { unpackWheel } from "../wheels/unpack-wheel.ts";
import { refused } from "../wheels/wheel-archive.ts";
import { parseWheelName } from "../wheels/wheel-name.ts";
import { draftPath, type PackageStore } from "./package-store.ts";

/** Sets of another layout are not used; `codecell packages prune` removes them in time. */
const layout = "codecell packages 1";
export const markerName = "set.json";
export const treeName = "tree";

/** The key of a set: the same wheels give the same tree, whoever asked for them. */
export function setKey(hashes: readonly string[]): string {
  return createHash("sha256")
    .update([layout, ...[...hashes].sort()].join("\n"))
    .digest("hex");
}

/**
 * The directory of a complete set, or undefined. One small file is read, however large the packages are: it is written last,
 * and nothing below a set is ever changed.
 */
export async function findSet({ sets }: PackageStore, key: string): Promise<string | undefined> {
  if (!(await isComplete(join(sets, key), key))) return undefined;
  // when it was last used, for `codecell packages prune`
  const now = new Date();
  await utimes(join(sets, key, markerName), now, now).catch(() => {});
  return join(sets, key, treeName);
}

async function isComplete(directory: string, key: string): Promise<boolean> {
  try {
    return (JSON.parse(await readFile(join(directory, markerName), "utf8")) as { key?: unknown }).key === key;
  } catch {
    return false;
  }
}

/** Unpacks the wheels beside the final place and renames the whole: nobody ever sees half a set, or a mixture of two. */
export async function buildSet(
  store: PackageStore,
  packages: readonly PreparedPackage[],
  options: {
    readonly limits: PackageLimits;
    readonly wheelPath: (sha256: string) => string;
    readonly signal?: AbortSignal | undefined;
    readonly onProgress?: ((event: PackageProgress) => void) | undefined;
  },
): Promise<string> {
  const key = setKey(packages.map(({ sha256 }) => sha256));
  const draft = draftPath(store.sets);
  const tree = join(draft, treeName);
  await mkdir(draft, { mode: 0o711 });
  try {
    await mkdir(tree, { mode: 0o755 });
    // by name, so that the same wheels give the same tree
    for (const one of [...packages].sort((a, b) => (a.name < b.name ? -1 : 1))) {
      options.onProgress?.({ kind: "unpacking", name: one.name, version: one.version });
      const name = parseWheelName(one.wheel);
      if (!name) throw refused(one.wheel, "its name is not that of a wheel");
      await unpackWheel({ path: options.wheelPath(one.sha256), label: one.wheel, name }, { ...options, into: tree });
    }
    await sealTree(tree);
    await chmod(draft, 0o711); // whatever the umask is
    await writeFile(join(draft, markerName), JSON.stringify({ key, packages }), { mode: 0o600 });
    await moveInto(draft, join(store.sets, key), key);
    return join(store.sets, key, treeName);
  } finally {
    await removeTree(draft);
  }
}

/** Nobody writes there again. Modes do not stop root: the mount in the cell is read-only as well. */
async function sealTree(directory: string): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true }))
    if (entry.isDirectory()) await sealTree(join(directory, entry.name));
  await chmod(directory, 0o555);
}

/** If another process was faster, its set has the same content. A damaged one is moved out of the way first. */
async function moveInto(draft: string, final: string, key: string): Promise<void> {
  try {
    await rename(draft, final);
  } catch (error) {
    if (!["ENOTEMPTY", "EEXIST"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    if (await isComplete(final, key)) return;
    await rename(final, `${draft}-damaged`);
    await removeTree(`${draft}-damaged`);
    await rename(draft, final);
  }
}
