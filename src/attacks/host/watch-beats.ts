import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { StartHostCheck } from "./host-check.ts";

/** Longer than a few beats of what the attack left running. */
const listenMs = 250;
/** What is being killed when its session is closed may beat once more; what was forgotten beats for ever. */
const patienceMs = 3_000;

/**
 * Sees that something of a cell runs after its session was closed, also where the host does not see the cell's processes: the
 * attack appends to the file `beat-<mine>` of the shared directory until it is killed.
 */
export const watchBeats: StartHostCheck = async ({ cells, session, mine }) => {
  const path = join(cells.host.shown.writable, `beat-${mine}`);
  const bytes = () =>
    stat(path).then(
      ({ size }) => size,
      () => 0,
    );
  return async () => {
    await session.close();
    const end = performance.now() + patienceMs;
    let isBeating = true;
    for (let before = await bytes(); isBeating && performance.now() < end; ) {
      await new Promise((resolve) => setTimeout(resolve, listenMs));
      const after = await bytes();
      isBeating = after > before;
      before = after;
    }
    await rm(path, { force: true });
    return isBeating ? "something of the cell is running after its session was closed" : undefined;
  };
};
