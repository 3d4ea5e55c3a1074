import { readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { writeFileAtomically } from "./atomic-file.ts";
import { isHeld, type LivenessLock, takeLock } from "./liveness-lock.ts";

const suffix = ".alive";

/** Where the lock lies that says whether the owner of a path lives. */
export function claimOf(path: string): string {
  return `${path}${suffix}`;
}

/**
 * Says that what lies at `path`, a file or a directory, belongs to this process, before it is made there: it is removed
 * when this is disposed, and by `removeDeadFiles` after a death that left no time for that. Undefined: another one's.
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

/** A file that is there as long as this process. Undefined: a living process has one of this name. */
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

/** Removes what processes claimed in this directory that are dead by now; of names that `isOurs` leaves to others, none. */
export async function removeDeadFiles(directory: string, isOurs: (name: string) => boolean = () => true) {
  for (const name of await deadNames(directory)) {
    if (!isOurs(name)) continue;
    const path = join(directory, name);
    const lock = await takeLock(claimOf(path)); // whoever claims the same name meanwhile is not to lose it
    if (lock) await giveUp(path, lock);
  }
}

/** What dead processes have claimed in this directory. */
export async function deadNames(directory: string): Promise<string[]> {
  const names: string[] = [];
  for (const entry of await readdir(directory)) {
    if (entry.endsWith(suffix) && !(await isHeld(join(directory, entry)))) names.push(entry.slice(0, -suffix.length));
  }
  return names;
}

/** The claim last: what is left when we are killed in the middle is found again. */
async function giveUp(path: string, lock: LivenessLock): Promise<void> {
  await rm(path, { recursive: true, force: true });
  const isDraft = (name: string) => name.startsWith(`${basename(path)}.`) && name.endsWith(".draft");
  const drafts = (await readdir(dirname(path)).catch(() => [])).filter(isDraft);
  for (const draft of drafts) await rm(join(dirname(path), draft), { force: true });
  await lock[Symbol.asyncDispose]();
}
