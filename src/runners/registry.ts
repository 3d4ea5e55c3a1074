import { CodecellError } from "../lib/errors.ts";
import { compareIsolation, levelsWithoutRunner } from "../policy/isolation.ts";
import type { Policy, RunnerName } from "../policy/schema.ts";
import { policyRefused, refusalOf } from "./enforced-receipt.ts";
import type { EnforcementPlan } from "./receipt.ts";
import type { Probe, SandboxRunner } from "./runner.ts";

/**
 * Why a runner was skipped: it does not work on this machine, it cannot enforce a rule of the policy, or it is weaker than
 * `isolation.minimum`.
 */
export type PassedOverKind = "unavailable" | "refused" | "below_minimum";

/** A runner that was skipped, and why. */
export interface PassedOver {
  readonly kind: PassedOverKind;
  readonly runner: RunnerName;
  readonly reason: string;
  readonly hint: string;
}

/** The runner that was chosen for a policy, and the stronger ones that were skipped. */
export interface Choice {
  readonly runner: SandboxRunner;
  readonly probe: Extract<Probe, { available: true }>;
  /** what the runner said to the policy when it was chosen; each cell's receipt comes from a plan of its own */
  readonly plan: EnforcementPlan;
  readonly passedOver: readonly PassedOver[];
}

/** A hint with every runner's advice would be too long to read. */
const hintsShown = 2;

/**
 * The runner that a policy names. For `auto`, the strongest available one that is not below `isolation.minimum` and can
 * enforce every rule. A named runner is never replaced by another.
 */
export async function chooseRunner(runners: readonly SandboxRunner[], policy: Policy): Promise<Choice> {
  const wanted = policy.isolation.runner;
  const candidates =
    wanted === "auto"
      ? [...runners].sort((a, b) => compareIsolation(b.isolation, a.isolation))
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
    throw new CodecellError("runner_unavailable", `there is no runner named ${wanted}`, {
      hint: `use one of: ${names}; \`codecell doctor\` shows which of them work here`,
      details: { isUnknownRunner: true },
    });
  }
  const reasons = groupedBy(passedOver, ({ kind, reason }) =>
    kind === "below_minimum" ? belowMinimum(policy) : reason,
  )
    .map(([reason, group]) => `${group.map(({ runner }) => runner).join(", ")}: ${reason}`)
    .join("; ");
  throw passedOver.some(({ kind }) => kind !== "unavailable")
    ? new CodecellError("policy_refused", `no available runner can enforce this policy (${reasons})`, {
        hint: refusalHint(passedOver),
        details: { passedOver },
      })
    : new CodecellError("runner_unavailable", `no runner is available (${reasons})`, {
        hint: passedOver[0]?.hint ?? "run `codecell doctor`",
        details: { passedOver },
      });
}

/** Pure: what to change for which runner. First what would let an available runner enforce the policy. */
function refusalHint(passedOver: readonly PassedOver[]): string {
  const order: readonly PassedOverKind[] = ["refused", "unavailable", "below_minimum"];
  const useful = order.flatMap((kind) => passedOver.filter((one) => one.kind === kind && one.hint !== ""));
  const hints = groupedBy(useful, ({ hint }) => hint).map(([hint, group]) =>
    group.some(({ kind }) => kind === "below_minimum")
      ? hint
      : `for ${group.map(({ runner }) => runner).join(", ")}: ${hint}`,
  );
  const explain = "`codecell policy explain` shows every rule and who can enforce it";
  return [...hints.slice(0, hintsShown), explain].join("; or ");
}

function belowMinimum({ isolation }: Policy): string {
  return `weaker than isolation.minimum, which is ${isolation.minimum}`;
}

function groupedBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): (readonly [string, Item[]])[] {
  const groups = new Map<string, Item[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return [...groups];
}

async function consider(
  runner: SandboxRunner,
  policy: Policy,
  isPatient: boolean,
): Promise<
  | { probe: Extract<Probe, { available: true }>; plan: EnforcementPlan }
  | { passedOver: PassedOver; error: CodecellError }
> {
  if (compareIsolation(runner.isolation, policy.isolation.minimum) < 0) {
    const reason = `${runner.name} is ${belowMinimum(policy)}`;
    const hint = levelsWithoutRunner.includes(policy.isolation.minimum)
      ? `lower isolation.minimum: this version has no ${policy.isolation.minimum} runner`
      : `lower isolation.minimum, or make a runner available that reaches it (\`codecell doctor\`)`;
    return {
      passedOver: { kind: "below_minimum", runner: runner.name, reason, hint },
      error: new CodecellError("policy_refused", reason, { hint }),
    };
  }
  const probe = await runner.probe({ isWanted: policy.isolation.runner === runner.name, isPatient });
  if (!probe.available) {
    const { reason, hint } = probe;
    const error = new CodecellError("runner_unavailable", `the ${runner.name} runner is not available: ${reason}`, {
      hint,
    });
    return { passedOver: { kind: "unavailable", runner: runner.name, reason, hint }, error };
  }
  const plan = await runner.plan(policy).catch((error: unknown) => {
    if (error instanceof CodecellError && error.code === "runner_unavailable") return error;
    throw error;
  });
  // An engine that answered the probe may fail to answer now.
  if (plan instanceof CodecellError) {
    return {
      passedOver: { kind: "unavailable", runner: runner.name, reason: plan.message, hint: plan.hint ?? "" },
      error: plan,
    };
  }
  if (plan.refused.length === 0) return { probe, plan };
  const error = policyRefused(runner.name, plan);
  return {
    passedOver: { kind: "refused", runner: runner.name, reason: refusalOf(plan), hint: error.hint ?? "" },
    error,
  };
}
