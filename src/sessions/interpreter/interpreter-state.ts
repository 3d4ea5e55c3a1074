import type { KernelClient } from "../../kernel/client.ts";
import type { Policy } from "../../policy/schema.ts";
import { SnapshotRecovery } from "../storage/snapshot-recovery.ts";
import { Checkpoints } from "./checkpoints.ts";
import type { InterpreterLosses } from "./interpreter-losses.ts";

/** Keeps an interpreter's variables for a crash, and tells the next result what was lost between two runs. */
export class InterpreterState {
  readonly checkpoints: Checkpoints;
  /** present where the kernel itself keeps no copy of the interpreter */
  readonly recovery: SnapshotRecovery | undefined;
  readonly #losses: InterpreterLosses;
  #recovering: Promise<void> | undefined;

  constructor(kernel: KernelClient, { checkpoints, recovery }: Policy["session"], losses: InterpreterLosses) {
    const { features } = kernel.info;
    const needsSnapshots = features.includes("snapshot") && !features.includes("checkpoints");
    this.checkpoints = new Checkpoints(kernel, checkpoints, losses);
    this.recovery = needsSnapshots && recovery !== "off" ? new SnapshotRecovery(kernel) : undefined;
    this.#losses = losses;
  }

  /** Settles when variables that were lost between two runs are back; undefined if none were lost. */
  get recovering(): Promise<void> | undefined {
    return this.#recovering;
  }

  /** The interpreter died between two runs, and the cell kept no copy of it. */
  lost(): void {
    this.#recovering = this.recovery?.recover("between runs").then(({ notes }) => {
      this.#losses.add(...notes);
    });
  }

  /** What changed between two runs without a request of the caller. Each sentence is returned once. */
  takeNews(): string[] {
    return [...this.#losses.take(), ...this.checkpoints.takeGone()];
  }
}
