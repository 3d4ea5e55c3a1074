import { CodecellError } from "../../../lib/errors.ts";
import type { Session } from "../../../sessions/session.ts";

/**
 * Loads a session into a cell. Throws if its variables could not be restored although the save is intact (too little
 * memory or time): a save after the next run would replace it with a less complete one.
 */
export async function bringBack(session: Session): Promise<void> {
  await session.wake();
  const problem = session.restored?.problem;
  if (problem === undefined || problem.code === "snapshot_damaged" || problem.code === "not_supported") return;
  throw new CodecellError(problem.code, `session ${session.id} could not be restored: ${problem.message}`, {
    hint: "the save is unchanged; raise --memory or --timeout, or use another runner",
    cause: problem,
  });
}
