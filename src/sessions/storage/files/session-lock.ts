import { createHash } from "node:crypto";
import { join } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import { type LivenessLock, takeLock } from "../../../lib/files/liveness-lock.ts";

export interface SessionPlace {
  readonly runtimeDir: string;
  /** distinguishes state directories: the same id in two of them means two sessions */
  readonly workspacesDir: string;
}

/** The path of a saved session's lock. Only the process that holds it may open the session. */
export function sessionLockPath({ runtimeDir, workspacesDir }: SessionPlace, id: string): string {
  const name = createHash("sha256").update(`${workspacesDir}\0${id}`).digest("hex").slice(0, 24);
  return join(runtimeDir, `session-${name}`);
}

/** Locks a session for this process; throws `session_busy` if another process has it open. */
export async function lockSession(place: SessionPlace, id: string): Promise<LivenessLock> {
  const lock = await takeLock(sessionLockPath(place, id));
  if (lock) return lock;
  throw new CodecellError("session_busy", `session ${id} is open in another process`, {
    hint: "close it there, or use another id",
  });
}
