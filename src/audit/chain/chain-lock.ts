import { open } from "node:fs/promises";
import { join } from "node:path";
import { aboutPath } from "../../lib/files/about-path.ts";
import { isHeld, type LivenessLock, takeLock } from "../../lib/files/liveness-lock.ts";

/** A socket's path can have 104 to 108 bytes, and the lock adds a suffix. */
const longestPath = 90;

/** Locks a chain for this process: two writers would continue the same line. Undefined: another process has it. */
export async function lockChain(dir: string, chain: string): Promise<LivenessLock | undefined> {
  return withShortPath(join(dir, chain), async (path, keepOpen) => {
    const lock = await takeLock(path);
    if (!lock) return undefined;
    const release = keepOpen();
    return {
      path: join(dir, chain, "lock"),
      async [Symbol.asyncDispose]() {
        await lock[Symbol.asyncDispose]();
        await release();
      },
    };
  });
}

/** Whether a running process writes to the chain. */
export function isChainLive(dir: string, chain: string): Promise<boolean> {
  return withShortPath(join(dir, chain), (path) => isHeld(path));
}

/**
 * The lock is in the chain's own directory, so that processes with different runtime directories find it. If the path is too
 * long for a socket, it is reached through a descriptor of its directory.
 */
async function withShortPath<Answer>(
  directory: string,
  use: (path: string, keepOpen: () => () => Promise<void>) => Promise<Answer>,
): Promise<Answer> {
  const path = join(directory, "lock");
  const isShort = Buffer.byteLength(path) <= longestPath || process.platform !== "linux";
  if (isShort) return use(path, () => async () => {});
  const handle = await open(directory, "r");
  let isKept = false;
  try {
    return await use(`/proc/self/fd/${handle.fd}/lock`, () => {
      isKept = true;
      return () => handle.close();
    });
  } catch (error) {
    throw aboutPath(error, path); // `/proc/self/fd/24/lock` would mean nothing to a reader
  } finally {
    if (!isKept) await handle.close();
  }
}
