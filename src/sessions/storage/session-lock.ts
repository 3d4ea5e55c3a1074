import { createHash } from "node:crypto";
import { join } from "node:path";
import { CodecellError } from "../../lib/errors.ts";
import { type LivenessLock, takeLock } from "../../lib/files/liveness-lock.ts";

export interface SessionPlace {
  readonly runtimeDir: string;
  /** tells state directories apart: the same id in two of them names two sessions */
  readonly workspacesDir: string;
}

/** Where the lock of a saved session lies. Whoever holds it is the only process in which the session may live. */
export function sessionLockPath({ runtimeDir, workspacesDir }: SessionPlace, id: string): string {
  const name = createHash("sha256").update(`${workspacesDir}\0${id}`).digest("hex").slice(0, 24);
  return join(runtimeDir, `session-${name}`);
}

/** Takes a session for this process, or says with `session_busy` that another one has it. */
export async function lockSession(place: SessionPlace, id: string): Promise<LivenessLock> {
  const lock = await takeLock(sessionLockPath(place, id));
  if (lock) return lock;
  throw new CodecellError("session_busy", `session ${id} is open in another process`, {
    hint: "close it there, or use another id",
  });
}
