import type { RestoreFailure } from "../../kernel/messages.ts";
import { CodecellError } from "../../lib/errors.ts";
import { type SnapshotEntry, snapshotEntries } from "./snapshot-entries.ts";
import { entryName } from "./snapshot-manifest.ts";

/** How many variables that end the interpreter are looked for, and for how long. */
const maxCulprits = 8;
const searchMs = 30_000;
const maxEntries = 5_000;

/** The interpreter that variables are restored in. */
export interface RestoringKernel {
  /** whether the cell still answers: a dead interpreter is replaced, a dead cell is not */
  readonly isAlive: boolean;
  restore(data: Uint8Array, timeoutMs?: number): Promise<RestoreFailure[]>;
}

/**
 * Restores the variables of a snapshot, and returns those that could not be restored. Loading a value runs its code. If that ends
 * the interpreter, the value is found by restoring ever smaller parts, and only this one is lost.
 */
export async function restoreVariables(
  kernel: RestoringKernel,
  snapshot: Uint8Array,
  timeoutMs?: number,
): Promise<RestoreFailure[]> {
  const data = Buffer.from(snapshot.buffer, snapshot.byteOffset, snapshot.byteLength);
  /** The error if the interpreter died. */
  const attempt = async (parts: Uint8Array): Promise<RestoreFailure[] | CodecellError> => {
    try {
      return await kernel.restore(parts, timeoutMs);
    } catch (error) {
      const hasDied = error instanceof CodecellError && error.code === "cell_lost";
      if (hasDied && kernel.isAlive) return error;
      throw error;
    }
  };
  const whole = await attempt(data);
  if (Array.isArray(whole)) return whole;
  const until = performance.now() + searchMs;
  const lost: RestoreFailure[] = [];
  let left = [...snapshotEntries(data, maxEntries)];
  for (;;) {
    // The first `alive` entries do no harm; the first `deadly` ones end the interpreter.
    let [alive, deadly] = [0, left.length];
    while (deadly - alive > 1 && performance.now() < until) {
      const middle = (alive + deadly) >> 1;
      if (Array.isArray(await attempt(joined(data, left.slice(0, middle))))) alive = middle;
      else deadly = middle;
    }
    const isFound = deadly - alive === 1;
    const [culprit] = left.splice(deadly - 1, 1);
    if (isFound && culprit) lost.push({ name: entryName(culprit.header), reason: "loading it ended the interpreter" });
    const restored = isFound ? await attempt(joined(data, left)) : whole;
    if (Array.isArray(restored)) return [...lost, ...restored];
    if (isFound && lost.length < maxCulprits && performance.now() < until) continue;
    const failed = await attempt(joined(data, left.slice(0, alive)));
    if (!Array.isArray(failed)) throw failed;
    left = left.slice(alive);
    const untried = left.map(({ header }) => ({ name: entryName(header), reason: "others ended the interpreter" }));
    return [...lost, ...failed, ...untried];
  }
}

function joined(data: Buffer, entries: readonly SnapshotEntry[]): Buffer {
  return Buffer.concat(entries.map(({ start, end }) => data.subarray(start, end)));
}
