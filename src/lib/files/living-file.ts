import { readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { writeFileAtomically } from "./atomic-file.ts";
import { isHeld, type LivenessLock, takeLock } from "./liveness-lock.ts";

const suffix = ".alive";

/** Path of the lock that shows whether the owner of a path is running. */
export function claimOf(path: string): string {
  return `${path}${suffix}`;
}

/**
 * Claims `path`, a file or a directory, for this process before it is created. It is removed when the claim is disposed, or by
 * `removeDeadFiles` if this process is killed. Undefined: another process owns it.
 */
export async function claimPath(path: string): Promise<AsyncDisposable | undefined> {
  const lock = await takeLock(claimOf(path));
  if (!lock) return undefined;
  let givenUp: Promise<void> | undefined;
  return {
    [Symbol.asyncDispose]() {
      givenUp ??= giveUp(path, lock);
      return givenUp;
    },
  };
}

/** A file that exists while this process runs. Undefined: another running process owns this name. */
export async function keepLivingFile(path: string, content: string): Promise<AsyncDisposable | undefined> {
  const claim = await claimPath(path);
  if (!claim) return undefined;
  try {
    await writeFileAtomically(path, content);
    return claim;
  } catch (error) {
    await claim[Symbol.asyncDispose]();
    throw error;
  }
}

/** Removes the paths in this directory that dead processes claimed, if `isOurs` accepts their names. */
export async function removeDeadFiles(directory: string, isOurs: (name: string) => boolean = () => true) {
  for (const name of await deadNames(directory)) {
    if (!isOurs(name)) continue;
    const path = join(directory, name);
    const lock = await takeLock(claimOf(path)); // a process that claims the same name meanwhile must not lose it
    if (lock) await giveUp(path, lock);
  }
}

/** Paths in this directory that dead processes claimed. */
export async function deadNames(directory: string): Promise<string[]> {
  const names: string[] = [];
  for (const entry of await readdir(directory)) {
    if (entry.endsWith(suffix) && !(await isHeld(join(directory, entry)))) names.push(entry.slice(0, -suffix.length));
  }
  return names;
}

/** Removes the claim last, so that the rest is found again if we are killed in between. */
async function giveUp(path: string, lock: LivenessLock): Promise<void> {
  await rm(path, { recursive: true, force: true });
  const isDraft = (name: string) => name.startsWith(`${basename(path)}.`) && name.endsWith(".draft");
  const drafts = (await readdir(dirname(path)).catch(() => [])).filter(isDraft);
  for (const draft of drafts) await rm(join(dirname(path), draft), { force: true });
  await lock[Symbol.asyncDispose]();
}
