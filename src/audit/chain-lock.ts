import { open } from "node:fs/promises";
import { join } from "node:path";
import { isHeld, type LivenessLock, takeLock } from "../lib/files/liveness-lock.ts";

/** A socket's path has 104 to 108 bytes; the lock adds a suffix of its own. */
const longestPath = 90;

/** Takes a chain for this process: two writers would continue the same line. Undefined: somebody else has it. */
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

/** Whether a living process writes to the chain. */
export function isChainLive(dir: string, chain: string): Promise<boolean> {
  return withShortPath(join(dir, chain), (path) => isHeld(path));
}

/**
 * The lock lies in the chain's own directory, so that processes with different runtime directories find each other. A path
 * that is too long for a socket is reached through a descriptor of its directory.
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
  } finally {
    if (!isKept) await handle.close();
  }
}
