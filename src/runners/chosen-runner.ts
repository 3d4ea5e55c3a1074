import { CodecellError, type CodecellErrorCode } from "../lib/errors.ts";
import type { Logger } from "../lib/log/logger.ts";
import type { Policy } from "../policy/schema.ts";
import { type Choice, chooseRunner } from "./registry.ts";
import type { SandboxRunner } from "./runner.ts";

/**
 * Failures of the runner itself, after which another one is chosen. `cell_start_failed` is not among them: files that a
 * session leaves in its workspace can make its next start fail, and code must not be able to move itself or other sessions
 * to a weaker runner.
 */
const replaceable: ReadonlySet<CodecellErrorCode> = new Set(["runner_unavailable", "policy_refused"]);

/**
 * The runner that cells are started in. If it fails, because its engine stopped answering or lost its image, another runner
 * is chosen and kept, as long as the policy says `auto`.
 */
export class ChosenRunner {
  readonly #runners: readonly SandboxRunner[];
  readonly #policy: Policy;
  readonly #logger: Logger;
  #choice: Choice;

  private constructor(runners: readonly SandboxRunner[], policy: Policy, logger: Logger, choice: Choice) {
    this.#runners = runners;
    this.#policy = policy;
    this.#logger = logger;
    this.#choice = choice;
  }

  static async choose(runners: readonly SandboxRunner[], policy: Policy, logger: Logger): Promise<ChosenRunner> {
    return new ChosenRunner(runners, policy, logger, await chooseRunner(runners, policy));
  }

  get choice(): Choice {
    return this.#choice;
  }

  /** Starts something in the chosen runner, or in the one that replaces it. */
  async start<Started>(attempt: (choice: Choice) => Promise<Started>): Promise<Started> {
    const choice = this.#choice;
    try {
      return await attempt(choice);
    } catch (error) {
      const hasOthers = this.#policy.isolation.runner === "auto" && this.#runners.length > 1;
      if (!hasOthers || !(error instanceof CodecellError) || !replaceable.has(error.code)) throw error;
      const next = await chooseRunner(this.#runners, this.#policy);
      if (next.runner === choice.runner) throw error;
      this.#logger.warn("the runner failed and was replaced", {
        ...{ runner: next.runner.name, before: choice.runner.name, why: error.message },
      });
      this.#choice = next;
      return await attempt(next);
    }
  }
}
