import { readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { removeTree } from "../../lib/files/remove-tree.ts";
import type { PreparedPackage } from "../prepared-packages.ts";
import { markerName, treeName } from "./package-set.ts";
import { draftPath, isDraft, type PackageStore, packageStore } from "./package-store.ts";

/** A set in the cache. */
export interface CachedSet {
  readonly key: string;
  readonly directory: string;
  readonly packages: readonly PreparedPackage[];
  readonly lastUsedMs: number;
  /** of its files */
  readonly bytes: number;
}

/** What `prunePackages` removed. */
export interface PrunedPackages {
  readonly sets: readonly CachedSet[];
  /** wheels that no set needs any more */
  readonly wheels: number;
  readonly bytes: number;
}

/** A process that prepares packages is not disturbed; what a killed one left is removed. */
const draftMs = 24 * 3_600_000;

/** The sets in the cache, last used first. */
export async function listPackageSets(cacheDir: string): Promise<CachedSet[]> {
  const store = packageStore(cacheDir);
  const found = await Promise.all((await namesIn(store.sets)).map((key) => readSet(store, key)));
  return found.flatMap((set) => set ?? []).sort((a, b) => b.lastUsedMs - a.lastUsedMs);
}

/**
 * Removes sets that were not used for so long, with wheels and records that nothing else needs. `olderThanMs: 0` removes
 * everything, sets of running sessions too.
 */
export async function prunePackages(
  cacheDir: string,
  { olderThanMs, nowMs = Date.now() }: { readonly olderThanMs: number; readonly nowMs?: number },
): Promise<PrunedPackages> {
  const store = packageStore(cacheDir);
  const all = await listPackageSets(cacheDir);
  const sets = all.filter(({ lastUsedMs }) => nowMs - lastUsedMs >= olderThanMs);
  for (const { key } of sets) {
    // renamed first: nobody finds half a set
    const leaving = draftPath(store.sets);
    await rename(join(store.sets, key), leaving);
    await removeTree(leaving);
  }
  const kept = new Set(
    all.filter((set) => !sets.includes(set)).flatMap(({ packages }) => packages.map(({ sha256 }) => `${sha256}.whl`)),
  );
  const { wheels, bytes } = await pruneWheels(store, kept, nowMs - olderThanMs);
  await pruneLocks(store, kept, nowMs - olderThanMs);
  await pruneDrafts(store, nowMs - draftMs);
  return { sets, wheels, bytes: bytes + sets.reduce((sum, set) => sum + set.bytes, 0) };
}

async function readSet({ sets }: PackageStore, key: string): Promise<CachedSet | undefined> {
  try {
    const marker = join(sets, key, markerName);
    const { packages } = JSON.parse(await readFile(marker, "utf8")) as { packages: PreparedPackage[] };
    const directory = join(sets, key, treeName);
    return { key, directory, packages, lastUsedMs: (await stat(marker)).mtimeMs, bytes: await bytesBelow(directory) };
  } catch {
    return undefined; // being made or removed
  }
}

async function bytesBelow(directory: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    bytes += entry.isDirectory() ? await bytesBelow(path) : (await stat(path)).size;
  }
  return bytes;
}

async function pruneWheels(store: PackageStore, kept: ReadonlySet<string>, beforeMs: number) {
  let [wheels, bytes] = [0, 0];
  for (const name of await namesIn(store.wheels)) {
    const path = join(store.wheels, name);
    const found = await stat(path).catch(() => undefined);
    if (kept.has(name) || isDraft(name) || !found || found.mtimeMs > beforeMs) continue;
    await rm(path, { force: true });
    wheels++;
    bytes += found.size;
  }
  return { wheels, bytes };
}

/** A record is worth keeping while its wheels are there. */
async function pruneLocks(store: PackageStore, kept: ReadonlySet<string>, beforeMs: number): Promise<void> {
  for (const name of await namesIn(store.locks)) {
    const path = join(store.locks, name);
    const [text, found] = await Promise.all([
      readFile(path, "utf8").catch(() => ""),
      stat(path).catch(() => undefined),
    ]);
    const hashes = [...text.matchAll(/"sha256":"([0-9a-f]{64})"/g)].map(([, sha256]) => `${sha256}.whl`);
    if (!hashes.every((hash) => kept.has(hash)) && found && found.mtimeMs <= beforeMs) await rm(path, { force: true });
  }
}

async function pruneDrafts(store: PackageStore, beforeMs: number): Promise<void> {
  for (const directory of [store.sets, store.wheels]) {
    for (const name of (await namesIn(directory)).filter(isDraft)) {
      const path = join(directory, name);
      const found = await stat(path).catch(() => undefined);
      if (found && found.mtimeMs <= beforeMs) await removeTree(path);
    }
  }
}

async function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
}
