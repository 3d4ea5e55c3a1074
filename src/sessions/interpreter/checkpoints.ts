import type { KernelClient } from "../../kernel/client.ts";
import { CodecellError } from "../../lib/errors.ts";
import type { Checkpoint } from "./checkpoint.ts";
import type { InterpreterLosses } from "./interpreter-losses.ts";

/** The cell reports checkpoints that are gone. It is untrusted, so their number is limited. */
const maxGone = 100;

/** The checkpoints of one interpreter. */
export class Checkpoints {
  readonly #kernel: KernelClient;
  readonly #most: number;
  /** shared with the session, which reports them */
  readonly #losses: InterpreterLosses;
  readonly #makeRoom: () => Promise<boolean>;
  readonly #kept = new Map<string, Checkpoint>();
  /** names of checkpoints that exited by themselves; the next result reports them */
  readonly #gone = new Set<string>();

  /** `makeRoom` frees other copies, and says whether there were any. */
  constructor(
    kernel: KernelClient,
    most: number,
    losses: InterpreterLosses,
    makeRoom: () => Promise<boolean> = async () => false,
  ) {
    this.#makeRoom = makeRoom;
    this.#kernel = kernel;
    this.#most = most;
    this.#losses = losses;
  }

  get list(): Checkpoint[] {
    return [...this.#kept.values()];
  }

  async keep(name: string, sessionRun: () => number): Promise<Checkpoint> {
    this.#assertRoomFor(name);
    this.#tellLossBefore(name);
    this.#gone.delete(name);
    await this.#kernel.checkpoint(name).catch(async (error: unknown) => {
      const isFull = error instanceof CodecellError && error.code === "too_large";
      if (!isFull || !(await this.#makeRoom())) throw error;
      await this.#kernel.checkpoint(name);
    });
    if (this.#gone.delete(name)) {
      throw new CodecellError(
        "cell_lost",
        `checkpoint ${name} was not saved: its copy of the interpreter exited at once`,
      );
    }
    if (this.#losses.isUnseen) {
      // The interpreter died during the request: the checkpoint is of a state that the caller has not seen.
      this.#kept.delete(name);
      await this.#kernel.forget(name);
      this.#tellLossBefore(name);
    }
    const checkpoint = { name, run: sessionRun(), atMs: Date.now() };
    this.#kept.set(name, checkpoint);
    return checkpoint;
  }

  async goBackTo(id: string, name: string): Promise<Checkpoint> {
    const checkpoint = this.#known(id, name);
    await this.#kernel.rollback(name).catch((error: unknown) => {
      // gone, or it did not wake up
      const isGone = error instanceof CodecellError && ["checkpoint_unknown", "cell_lost"].includes(error.code);
      if (isGone) this.#kept.delete(name);
      throw error;
    });
    return checkpoint;
  }

  async forget(id: string, name: string): Promise<void> {
    this.#known(id, name);
    this.#kept.delete(name);
    await this.#kernel.forget(name);
  }

  /** A checkpoint exited without a request. */
  ended(name: string): void {
    this.#kept.delete(name);
    if (this.#gone.size < maxGone) this.#gone.add(name);
  }

  /** A sentence for each checkpoint that exited by itself. Each is returned once. */
  takeGone(): string[] {
    if (this.#gone.size === 0) return [];
    const notes = [...this.#gone].map((name) => `checkpoint ${name} is lost: its copy of the interpreter exited`);
    this.#gone.clear();
    return notes;
  }

  #assertRoomFor(name: string): void {
    if (!/^[A-Za-z0-9_.-]{1,64}$/.test(name)) {
      throw new CodecellError("usage", `invalid checkpoint name: ${JSON.stringify(name.slice(0, 80))}`, {
        hint: "use 1 to 64 letters, digits, dots, dashes and underscores",
      });
    }
    const most = this.#most;
    if (this.#kept.has(name) || this.#kept.size < most) return;
    const message = `the session has ${most} checkpoints, the limit of session.checkpoints`;
    throw new CodecellError("too_large", message, { hint: "delete one first, or raise session.checkpoints" });
  }

  /** Refuses a checkpoint of a state that the caller does not know yet, and reports the loss instead. */
  #tellLossBefore(name: string): void {
    if (!this.#losses.isUnseen) return;
    const notes = this.#losses.take().join(" ");
    throw new CodecellError("cell_lost", `checkpoint ${name} was not saved: ${notes}`, {
      hint: "check the variables, then try again",
    });
  }

  #known(id: string, name: string): Checkpoint {
    const checkpoint = this.#kept.get(name);
    if (checkpoint) return checkpoint;
    const message = `session ${id} has no checkpoint named ${JSON.stringify(name.slice(0, 80))}`;
    const names = [...this.#kept.keys()].join(", ") || "none";
    throw new CodecellError("checkpoint_unknown", message, { hint: `it has: ${names}` });
  }
}
