import type { KernelClient } from "../../kernel/client.ts";
import type { Policy } from "../../policy/schema.ts";
import { SnapshotRecovery } from "../storage/snapshot-recovery.ts";
import { Checkpoints } from "./checkpoints.ts";
import type { InterpreterLosses } from "./interpreter-losses.ts";
import { UndoCopies } from "./undo-copies.ts";

/** Keeps an interpreter's variables for a crash, and tells the next result what was lost between two runs. */
export class InterpreterState {
  readonly checkpoints: Checkpoints;
  readonly undo: UndoCopies;
  /** present where the kernel itself keeps no copy of the interpreter */
  readonly recovery: SnapshotRecovery | undefined;
  readonly #losses: InterpreterLosses;
  #recovering: Promise<void> | undefined;

  constructor(kernel: KernelClient, { checkpoints, recovery, undo }: Policy["session"], losses: InterpreterLosses) {
    const { features } = kernel.info;
    const needsSnapshots = features.includes("snapshot") && !features.includes("checkpoints");
    this.undo = new UndoCopies(kernel, undo);
    this.checkpoints = new Checkpoints(kernel, checkpoints, losses, () => this.undo.giveWay());
    this.recovery = needsSnapshots && recovery !== "off" ? new SnapshotRecovery(kernel) : undefined;
    this.#losses = losses;
  }

  /** Settles when variables that were lost between two runs are back; undefined if none were lost. */
  get recovering(): Promise<void> | undefined {
    return this.#recovering;
  }

  /** A copy of the interpreter exited without a request. */
  copyEnded(name: string): void {
    if (!this.undo.ended(name)) this.checkpoints.ended(name);
  }

  /** The interpreter died between two runs, and the cell kept no copy of it. */
  lost(): void {
    this.#recovering = this.recovery?.recover("between runs").then(({ notes }) => {
      this.#losses.add(...notes);
    });
  }

  /** Adds what changed between two runs without a request of the caller. Each sentence is given once. */
  giveNews(to: string[]): void {
    for (const note of this.#losses.take()) to.push(note);
    for (const note of this.checkpoints.takeGone()) to.push(note);
  }
}
