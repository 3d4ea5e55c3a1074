import { CodecellError } from "../../../lib/errors.ts";
import type { Session } from "../../../sessions/session.ts";

/**
 * Brings a session into a cell. When its variables did not come back although their save is whole (too little memory,
 * too little time), that is a failure: a save after the next run would put less in the place of more.
 */
export async function bringBack(session: Session): Promise<void> {
  await session.wake();
  const problem = session.restored?.problem;
  if (problem === undefined || problem.code === "snapshot_damaged" || problem.code === "not_supported") return;
  throw new CodecellError(problem.code, `session ${session.id} did not come back: ${problem.message}`, {
    hint: "its save is untouched; give it more memory or time, or another runner",
    cause: problem,
  });
}
