import { Cleanup } from "../../../lib/cleanup.ts";
import { CodecellError } from "../../../lib/errors.ts";
import { silentLogger } from "../../../lib/log/logger.ts";
import { type Policy, runnerNames } from "../../../policy/schema.ts";
import { LiveSessions } from "../../../sessions/live-sessions.ts";
import { planWithHost } from "../../../sessions/rules/host-rules.ts";
import type { Command, CommandContext } from "../command.ts";
import { choiceLines } from "../format/format-choice.ts";
import { type Explanation, explanationJson, explanationText } from "../format/format-plan.ts";
import { jsonText } from "../format/text/json-text.ts";
import { styleFor } from "../format/text/style.ts";
import { effectivePolicy } from "../policy/effective-policy.ts";
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
    const refused = error instanceof CodecellError && error.code === "policy_refused";
    const explanation = refused ? await explainRefusal(policy, context) : undefined;
    if (explanation === undefined) throw error;
    return explanation;
  }
}

async function explainRefusal(policy: Policy, context: CommandContext): Promise<Omit<Explanation, "file"> | undefined> {
  await using cleanup = new Cleanup();
  const runners = await context.runners(silentLogger);
  for (const runner of runners) cleanup.defer(() => runner[Symbol.asyncDispose]());
  const wanted = policy.isolation.runner;
  const names = [...runnerNames].reverse().filter((name) => wanted === "auto" || name === wanted);
  for (const name of names) {
    const runner = runners.find((one) => one.name === name);
    const probe = await runner?.probe();
    if (runner === undefined || probe === undefined || !probe.available) continue;
    const plan = planWithHost(await runner.plan(policy), policy, runner);
    if (plan.refused.length > 0) return { runner: name, runnerVersion: probe.version, plan, passedOver: [] };
  }
  return undefined;
}
