import { randomBytes } from "node:crypto";
import { chmod, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeDirectories } from "../../lib/files/make-directories.ts";

/** Where downloaded and unpacked packages are kept. */
export interface PackageStore {
  /** archives by their sha256 */
  readonly wheels: string;
  /** unpacked sets by their key: the only part that cells see */
  readonly sets: string;
  /** which wheels some requirements were resolved to */
  readonly locks: string;
}

export function packageStore(cacheDir: string): PackageStore {
  return { wheels: join(cacheDir, "wheels"), sets: join(cacheDir, "sets"), locks: join(cacheDir, "locks") };
}

/** Creates the directories. Cells of root run under another uid, which must reach its set and nothing else. */
export async function makePackageStore(cacheDir: string): Promise<PackageStore> {
  const store = packageStore(cacheDir);
  await makeReachable(cacheDir);
  await Promise.all([
    makeDirectories(store.wheels, 0o700),
    makeDirectories(store.locks, 0o700),
    makeReachable(store.sets),
  ]);
  return store;
}

/** Only a new directory gets the mode, whatever the umask is: one that its owner closed stays closed. */
async function makeReachable(path: string): Promise<void> {
  await makeDirectories(dirname(path), 0o755);
  const isNew = await mkdir(path).then(
    () => true,
    () => false,
  );
  if (isNew) await chmod(path, 0o711);
  else await makeDirectories(path, 0o711); // throws the reason if there is no directory
}

const draftMark = ".draft-";

/** A name beside the final one, to be renamed when it is complete. */
export function draftPath(directory: string): string {
  return join(directory, `${draftMark}${randomBytes(8).toString("hex")}`);
}

/** What a process that was killed leaves behind. */
export function isDraft(name: string): boolean {
  return name.startsWith(draftMark);
}
