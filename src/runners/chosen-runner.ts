import { CodecellError, type CodecellErrorCode } from "../lib/errors.ts";
import type { Policy } from "../policy/schema.ts";
import { type Choice, chooseRunner, type PassedOver } from "./registry.ts";
import type { SandboxRunner } from "./runner.ts";

/** Failures that say that a runner is not what it was when it was chosen. */
const replaceable: ReadonlySet<CodecellErrorCode> = new Set(["runner_unavailable", "policy_refused"]);
/** Failures that say of a runner that has never started a cell that it cannot: its probe has not seen everything. */
const unfitting: ReadonlySet<CodecellErrorCode> = new Set(["cell_start_failed", "image_failed"]);

/**
 * The runner that cells are started in. An engine may stop answering, or lose its image, while we live, and one that answers
 * every question may not be able to start a cell (it does not see our files, say): where the policy leaves the choice, it is
 * made anew.
 */
export class ChosenRunner {
  readonly #runners: readonly SandboxRunner[];
  readonly #policy: Policy;
  /** those that have started a cell, and those that could not start their first */
  readonly #proven = new Set<SandboxRunner>();
  readonly #unfit = new Map<SandboxRunner, PassedOver>();
  #choice: Choice;

  private constructor(runners: readonly SandboxRunner[], policy: Policy, choice: Choice) {
    this.#runners = runners;
    this.#policy = policy;
    this.#choice = choice;
  }

  static async choose(runners: readonly SandboxRunner[], policy: Policy): Promise<ChosenRunner> {
    return new ChosenRunner(runners, policy, await chooseRunner(runners, policy));
  }

  get choice(): Choice {
    return this.#choice;
  }

  /** Starts something in the runner that was chosen, or in the one that takes its place. */
  async start<Started>(attempt: (choice: Choice) => Promise<Started>): Promise<Started> {
    const choice = this.#choice;
    try {
      return await this.#startIn(choice, attempt);
    } catch (error) {
      const hasOthers = this.#policy.isolation.runner === "auto" && this.#runners.length > 1;
      if (!hasOthers || !(error instanceof CodecellError)) throw error;
      if (replaceable.has(error.code)) return await this.#startInAnother(choice, error, attempt);
      if (!unfitting.has(error.code) || this.#proven.has(choice.runner)) throw error;
      return await this.#startInFitter(choice, error, attempt);
    }
  }

  async #startIn<Started>(choice: Choice, attempt: (choice: Choice) => Promise<Started>): Promise<Started> {
    const started = await attempt(choice);
    this.#proven.add(choice.runner);
    return started;
  }

  async #startInAnother<Started>(
    { runner }: Choice,
    error: CodecellError,
    attempt: (choice: Choice) => Promise<Started>,
  ): Promise<Started> {
    const next = await chooseRunner(this.#runners, this.#policy, this.#unfit);
    if (next.runner === runner) throw error;
    this.#choice = next;
    return await this.#startIn(next, attempt);
  }

  /** What fails everywhere is no fault of the runner: then the choice stays, and the first failure is the one to tell. */
  async #startInFitter<Started>(
    choice: Choice,
    error: CodecellError,
    attempt: (choice: Choice) => Promise<Started>,
  ): Promise<Started> {
    const { runner } = choice;
    this.#unfit.set(runner, { runner: runner.name, reason: error.message, hint: error.hint ?? "" });
    try {
      this.#choice = await chooseRunner(this.#runners, this.#policy, this.#unfit);
      return await this.start(attempt);
    } catch (later) {
      this.#choice = choice;
      this.#unfit.delete(runner);
      throw later instanceof CodecellError && later.code === "aborted" ? later : error;
    }
  }
}
