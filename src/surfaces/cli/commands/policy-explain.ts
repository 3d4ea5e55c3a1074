import { Cleanup } from "../../../lib/cleanup.ts";
import { CodecellError } from "../../../lib/errors.ts";
import { silentLogger } from "../../../lib/log/logger.ts";
import type { Policy } from "../../../policy/schema.ts";
import { LiveSessions } from "../../../sessions/live-sessions.ts";
import { planWithHost } from "../../../sessions/rules/host-rules.ts";
import type { Command, CommandContext } from "../command.ts";
import { choiceLines, skipLines } from "../format/format-choice.ts";
import { type Explanation, explanationJson, explanationText } from "../format/format-plan.ts";
import { jsonText } from "../format/text/json-text.ts";
import { styleFor } from "../format/text/style.ts";
import { effectivePolicy } from "../policy/effective-policy.ts";
import type { Choice, Plan, Runner } from "../sessions/session-types.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { errorExitCodes } from "../shell/exit-codes.ts";

const options = {
  runner: {
    type: "string",
    value: "NAME",
    help: "Explain the policy for this runner instead of the one that would be used.",
  },
  json: { type: "boolean", help: "Print one JSON object." },
  ...commonOptions,
} as const;

export const policyExplainCommand: Command = {
  name: "policy explain",
  summary: "Show how each rule of a policy is enforced on this machine, or why it is refused",
  usage: "codecell policy explain [FILE] [--runner NAME] [--json]",
  options,
  notes: [
    "Without FILE it explains ./sandbox.policy.yaml, else the strictest policy. Exit code: 0 enforced, 3 refused, 4 no runner available.",
  ],
  examples: [
    ["codecell policy explain", "for the runner that would be used"],
    ["codecell policy explain strict.yaml --runner wasm", "how WASM would enforce it"],
  ],
  run: runPolicyExplain,
};

async function runPolicyExplain(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values, positionals } = parseArguments("policy explain", argv, options, 1);
  const { stdout, env } = context.terminal;
  const flags = { policy: positionals[0], runner: values.runner };
  const { policy, file } = await effectivePolicy(flags, context.terminal);
  const explanation = { ...(await explain(policy, context)), file };
  if (values.json) stdout.write(jsonText(explanationJson(explanation)));
  else stdout.write(explanationText(explanation, styleFor(stdout, env), stdout.columns));
  return explanation.plan.refused.length === 0 ? 0 : errorExitCodes.policy_refused;
}

/** The plan of the runner that would be used. If every runner refuses, the plan of the strongest available one. */
async function explain(policy: Policy, context: CommandContext): Promise<Omit<Explanation, "file">> {
  try {
    await using codecell = await LiveSessions.open({ policy, runners: await context.runners(silentLogger) });
    const { plan, probe, runner } = codecell.choice;
    const [, ...passedOver] = choiceLines(codecell.choice);
    const whole = planWithHost(plan, policy, runner);
    return { runner: runner.name, runnerVersion: probe.version, plan: whole, passedOver };
  } catch (error) {
    const refused = error instanceof CodecellError && error.code === "policy_refused" ? error : undefined;
    const explanation = refused && (await explainRefusal(policy, passedOverIn(refused), context));
    if (explanation === undefined) throw error;
    return explanation;
  }
}

async function explainRefusal(
  policy: Policy,
  rejected: Choice["passedOver"],
  context: CommandContext,
): Promise<Omit<Explanation, "file"> | undefined> {
  await using cleanup = new Cleanup();
  const runners = await context.runners(silentLogger);
  for (const runner of runners) cleanup.defer(() => runner[Symbol.asyncDispose]());
  const skipped: PassedOver[] = [];
  for (const { runner, why } of candidates(runners, policy, rejected)) {
    if (why?.kind === "unavailable") {
      skipped.push(why);
      continue;
    }
    const probe = await runner.probe();
    if (!probe.available) {
      skipped.push({ kind: "unavailable", runner: runner.name, reason: probe.reason, hint: probe.hint });
      continue;
    }
    const whole = planWithHost(await runner.plan(policy), policy, runner);
    const plan = why?.kind === "below_minimum" ? refusingMinimum(whole, policy, why) : whole;
    if (plan.refused.length === 0) continue;
    return { runner: runner.name, runnerVersion: probe.version, plan, passedOver: skipLines(skipped) };
  }
  return undefined;
}

type PassedOver = Choice["passedOver"][number];

/** The runners that refused, the strongest first, and why. A policy that names a runner has no other candidate. */
function candidates(
  runners: readonly Runner[],
  { isolation }: Policy,
  rejected: readonly PassedOver[],
): { readonly runner: Runner; readonly why?: PassedOver }[] {
  if (isolation.runner !== "auto")
    return runners.filter(({ name }) => name === isolation.runner).map((runner) => ({ runner }));
  return rejected.flatMap((why) =>
    runners.filter(({ name }) => name === why.runner).map((runner) => ({ runner, why })),
  );
}

function passedOverIn({ details }: CodecellError): Choice["passedOver"] {
  return Array.isArray(details.passedOver) ? details.passedOver : [];
}

/** Runners are asked only if they reach the minimum, so most of them do not refuse it themselves. */
function refusingMinimum(plan: Plan, { isolation }: Policy, { reason, hint }: PassedOver): Plan {
  const rule = "isolation.minimum";
  return {
    ...plan,
    rules: plan.rules.filter((row) => row.rule !== rule),
    refused: [{ rule, value: isolation.minimum, reason, hint }, ...plan.refused.filter((row) => row.rule !== rule)],
  };
}
