import { CodecellError } from "../lib/errors.ts";
import { type Policy, type RunnerName, runnerNames } from "../policy/schema.ts";
import { policyRefused } from "./enforced-receipt.ts";
import type { EnforcementPlan } from "./receipt.ts";
import type { Probe, SandboxRunner } from "./runner.ts";

/** Why a stronger runner was not taken. */
export interface PassedOver {
  readonly runner: RunnerName;
  readonly reason: string;
  readonly hint: string;
}

/** The runner that was taken for a policy, and why no stronger one. */
export interface Choice {
  readonly runner: SandboxRunner;
  readonly probe: Extract<Probe, { available: true }>;
  readonly plan: EnforcementPlan;
  readonly passedOver: readonly PassedOver[];
}

const strength = (name: RunnerName) => runnerNames.indexOf(name);

/**
 * The runner that a policy names, or for `auto` the strongest one that is there, is not below `isolation.minimum` and
 * can hold every rule. A named runner is never replaced by another.
 */
export async function chooseRunner(runners: readonly SandboxRunner[], policy: Policy): Promise<Choice> {
  const wanted = policy.isolation.runner;
  const candidates =
    wanted === "auto"
      ? [...runners].sort((a, b) => strength(b.name) - strength(a.name))
      : runners.filter((runner) => runner.name === wanted);
  const passedOver: PassedOver[] = [];
  for (const runner of candidates) {
    const rejection = await consider(runner, policy, runner === candidates.at(-1));
    if ("plan" in rejection) return { runner, ...rejection, passedOver };
    passedOver.push(rejection.passedOver);
    if (wanted !== "auto") throw rejection.error;
  }
  const names = runners.map((runner) => runner.name).join(", ");
  if (wanted !== "auto") {
    throw new CodecellError("runner_unavailable", `this build has no runner named ${wanted}`, {
      hint: `it has ${names}`,
    });
  }
  const reasons = passedOver.map((one) => `${one.runner}: ${one.reason}`).join("; ");
  throw refusedBySome(passedOver)
    ? new CodecellError("policy_refused", `no runner here can hold this policy (${reasons})`, {
        details: { passedOver },
      })
    : new CodecellError("runner_unavailable", `no runner is available (${reasons})`, {
        hint: passedOver[0]?.hint ?? "run `codecell doctor`",
        details: { passedOver },
      });
}

function refusedBySome(passedOver: readonly PassedOver[]): boolean {
  return passedOver.some((one) => one.reason.startsWith("refuses "));
}

async function consider(
  runner: SandboxRunner,
  policy: Policy,
  isPatient: boolean,
): Promise<
  | { probe: Extract<Probe, { available: true }>; plan: EnforcementPlan }
  | { passedOver: PassedOver; error: CodecellError }
> {
  if (strength(runner.name) < strength(policy.isolation.minimum)) {
    const reason = `refuses isolation.minimum: ${policy.isolation.minimum} is stronger than ${runner.name}`;
    const hint = `lower isolation.minimum, or provide the ${policy.isolation.minimum} runner`;
    return {
      passedOver: { runner: runner.name, reason, hint },
      error: new CodecellError("policy_refused", reason, { hint }),
    };
  }
  const probe = await runner.probe({ isWanted: policy.isolation.runner === runner.name, isPatient });
  if (!probe.available) {
    const { reason, hint } = probe;
    const error = new CodecellError("runner_unavailable", `the ${runner.name} runner is not available: ${reason}`, {
      hint,
    });
    return { passedOver: { runner: runner.name, reason, hint }, error };
  }
  const plan = await runner.plan(policy).catch((error: unknown) => {
    if (error instanceof CodecellError && error.code === "runner_unavailable") return error;
    throw error;
  });
  // An engine that answered the first question may not answer the second.
  if (plan instanceof CodecellError) {
    return { passedOver: { runner: runner.name, reason: plan.message, hint: plan.hint ?? "" }, error: plan };
  }
  if (plan.refused.length === 0) return { probe, plan };
  const error = policyRefused(runner.name, plan);
  return { passedOver: { runner: runner.name, reason: error.message, hint: error.hint ?? "" }, error };
}
