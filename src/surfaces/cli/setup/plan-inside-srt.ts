import { Cleanup } from "../../../lib/cleanup.ts";
import { silentLogger } from "../../../lib/log/logger.ts";
import type { Policy } from "../../../policy/schema.ts";
import type { CommandContext } from "../command.ts";
import type { Plan } from "../sessions/session-types.ts";

/** What becomes of a policy in a server that runs inside srt. */
export interface PlanInsideSrt {
  /** rules that cannot be enforced there */
  readonly refused: Plan["refused"];
  /** an engine outside srt starts the cells */
  readonly needsEngine: boolean;
}

/** Plans a policy for a server inside srt, where only some runners start cells. */
export async function planInsideSrt(policy: Policy, context: CommandContext): Promise<PlanInsideSrt> {
  const { runner: wanted } = policy.isolation;
  await using cleanup = new Cleanup();
  const runners = await context.runners(silentLogger);
  for (const runner of runners) cleanup.defer(() => runner[Symbol.asyncDispose]());
  const working = runners.filter(({ insideSandbox }) => insideSandbox === "works");
  const named = runners.find(({ name }) => name === wanted);
  if (named?.insideSandbox === "needs engine") return { refused: [], needsEngine: true };
  const runner = working.find(({ name }) => wanted === "auto" || name === wanted);
  if (runner) return { refused: (await runner.plan(policy)).refused, needsEngine: false };
  if (wanted === "auto") return { refused: [], needsEngine: false };
  const reason = `the ${wanted} runner does not start inside another sandbox`;
  const hint = `set it to auto or ${working.map(({ name }) => name).join(" or ")}`;
  return { refused: [{ rule: "isolation.runner", value: wanted, reason, hint }], needsEngine: false };
}
