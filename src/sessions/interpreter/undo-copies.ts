import type { KernelClient } from "../../kernel/client.ts";
import { CodecellError, messageOf } from "../../lib/errors.ts";

/** No name that a caller can give a checkpoint starts like this. */
const prefix = "~undo-";

interface UndoPoint {
  readonly name: string;
  /** the session's run that an undo undoes */
  readonly run: number;
  /** settles when the copy exists, or cannot be made */
  readonly made: Promise<void>;
  /** why there is no copy */
  problem?: string;
}

/** Copies of the interpreter from before the last runs, as `session.undo` allows. Without it, nothing is copied. */
export class UndoCopies {
  readonly #kernel: KernelClient;
  readonly #most: number;
  #points: UndoPoint[] = [];
  #made = 0;

  constructor(kernel: KernelClient, most: number) {
    this.#kernel = kernel;
    this.#most = kernel.info.features.includes("checkpoints") ? most : 0;
  }

  /** How many runs can be undone, one after the other. */
  get left(): number {
    const broken = this.#points.findLastIndex(({ problem }) => problem !== undefined);
    return this.#points.length - 1 - broken;
  }

  /** Call before a run, without an await: the cell takes requests in order, so it copies the interpreter before it runs the code. */
  before(run: number): void {
    if (this.#most === 0) return;
    // Before the new copy, so that there is never one more than the policy allows.
    for (const old of this.#points.splice(0, this.#points.length - this.#most + 1)) this.#forget(old);
    const name = `${prefix}${++this.#made}`;
    const made = this.#kernel.checkpoint(name).catch((error: unknown) => this.#failed(name, messageOf(error)));
    this.#points.push({ name, run, made });
  }

  /** Restores the variables from before the last run, and returns its number. */
  async undo(id: string): Promise<number> {
    await this.#points.at(-1)?.made;
    const point = this.#points.at(-1);
    if (!point) throw nothingToUndo(`session ${id} has no run that can be undone`);
    if (point.problem !== undefined) throw lostCopy(point);
    this.#points.pop();
    try {
      await this.#kernel.rollback(point.name);
    } catch (error) {
      if (!(error instanceof CodecellError)) throw error;
      if (error.code === "checkpoint_unknown") throw lostCopy({ ...point, problem: "it no longer exists" });
      // The variables are back, and there was only no room for another copy of them, which nobody needs.
      if (error.code !== "too_large") throw error;
      return point.run;
    }
    this.#forget(point);
    return point.run;
  }

  /** Frees the memory of all copies, for something that the caller asked for by name. Returns whether there were any. */
  async giveWay(): Promise<boolean> {
    const kept = this.#points.filter(({ problem }) => problem === undefined);
    for (const point of kept) point.problem = "its memory was needed for a checkpoint";
    await Promise.all(kept.map(({ name }) => this.#kernel.forget(name).catch(() => {})));
    return kept.length > 0;
  }

  /** A copy exited without a request. Returns whether it was one of these. */
  ended(name: string): boolean {
    if (!name.startsWith(prefix)) return false;
    this.#failed(name, "its copy of the interpreter exited, because of its memory or because the program ended it");
    return true;
  }

  /** Older copies are of no use without this one. */
  #failed(name: string, problem: string): void {
    const at = this.#points.findIndex((point) => point.name === name);
    const point = this.#points[at];
    if (!point) return;
    point.problem = problem;
    for (const old of this.#points.splice(0, at)) this.#forget(old);
  }

  #forget({ name, problem }: UndoPoint): void {
    if (problem === undefined) this.#kernel.forget(name).catch(() => {});
  }
}

export function nothingToUndo(message: string): CodecellError {
  return new CodecellError("nothing_to_undo", message, {
    hint: "only runs since the cell started can be undone, as many as session.undo says; roll back to a checkpoint, or run code that corrects the variables",
  });
}

function lostCopy({ run, problem }: Pick<UndoPoint, "run" | "problem">): CodecellError {
  return nothingToUndo(`run ${run} cannot be undone: the copy from before it is gone (${problem})`);
}
