import { arch, platform, release } from "node:os";
import { CodecellError } from "../../../lib/errors.ts";
import { type Logger, silentLogger } from "../../../lib/log/logger.ts";
import { parsePolicy } from "../../../policy/file/parse-policy.ts";
import { compareIsolation } from "../../../policy/isolation.ts";
import { codecellVersion } from "../../../service/version.ts";
import { LiveSessions } from "../../../sessions/live-sessions.ts";
import { findOuterSandbox } from "../../../sessions/outer-sandbox.ts";
import type { Command, CommandContext } from "../command.ts";
import { type Diagnosis, diagnosisJson, diagnosisText } from "../format/format-doctor.ts";
import { jsonText } from "../format/text/json-text.ts";
import { styleFor } from "../format/text/style.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { errorExitCodes } from "../shell/exit-codes.ts";
import { progressLogger } from "../shell/progress-logger.ts";

const options = {
  attack: { type: "boolean", help: "Attack the sandboxes of this machine, and report what contained each attack." },
  runner: { type: "string", value: "RUNNER", help: "With --attack: attack this runner only." },
  only: {
    type: "string",
    multiple: true,
    value: "GLOB",
    help: "With --attack: attacks whose id matches, such as 'network/*', or a kind such as escape. Repeatable.",
  },
  cluster: {
    type: "boolean",
    help: "Check the Kubernetes cluster: rights, admission, quota, gateways, and what is missing.",
  },
  probe: { type: "boolean", help: "With --cluster: also start a cell, run code in it, and report what isolates it." },
  policy: {
    type: "string",
    value: "FILE",
    help: "With --cluster: policy of the cells. Default: ./sandbox.policy.yaml, else the strictest policy.",
  },
  json: { type: "boolean", help: "Print one JSON object." },
  ...commonOptions,
} as const;

export const doctorCommand: Command = {
  name: "doctor",
  summary: "Show which runners are available, and how to fix the others",
  usage: "codecell doctor [--attack [--runner RUNNER] [--only GLOB]...] [--cluster [--probe] [--policy FILE]] [--json]",
  options,
  notes: [
    "Exit code: 0 if at least one runner is available, else 4.",
    "With --attack: 0 if every attack was contained, 1 if one did harm or could not be carried out, 4 if no runner is available. Attacks use loopback only, take about a minute per runner, and remove what they made. See docs/attacks.md.",
    "With --cluster: 0 if nothing is missing, else 4. It uses KUBECONFIG, ~/.kube/config or the service account of its pod, and the variables CODECELL_KUBERNETES_*. Without --probe it starts and changes nothing. See docs/kubernetes.md.",
  ],
  examples: [
    ["codecell doctor", "the runners of this machine, strongest first"],
    ["codecell doctor --json", "the same, for programs"],
    ["codecell doctor --attack", "attack every runner of this machine"],
    ["codecell doctor --attack --runner process --only 'network/*'", "one runner, one family of attacks"],
    ["codecell doctor --cluster", "what cells need and the cluster lacks, with the rules to add"],
    ["codecell doctor --cluster --probe --json", "the same with a cell that runs code, for CI"],
    ["codecell doctor --attack --json > scorecard.json", "for CI: the exit code says whether all were contained"],
  ],
  run: runDoctor,
};

async function runDoctor(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values } = parseArguments("doctor", argv, options, 0);
  const { stdout } = context.terminal;
  const { attack = false, cluster = false, probe = false, runner, only = [], policy, json = false } = values;
  if (attack && cluster) throw misplaced("--cluster and --attack exclude each other");
  if (!cluster && (probe || policy !== undefined)) throw misplaced(`${probe ? "--probe" : "--policy"} needs --cluster`);
  // The suite is loaded only here: `doctor` alone does not need it.
  if (attack) return (await import("../attack/run-attacks.ts")).runAttacks({ runner, only, json }, context);
  if (runner !== undefined || only.length > 0) {
    throw misplaced(`${runner === undefined ? "--only" : "--runner"} needs --attack`);
  }
  if (cluster) {
    const { runClusterDoctor } = await import("../cluster/run-cluster-doctor.ts");
    return await runClusterDoctor({ probe, policy, json }, context);
  }
  // Somebody at a terminal sees what the wait is for. Programs get the answer alone.
  const logger = json || !stdout.isTTY ? silentLogger : progressLogger(context.terminal.stderr, false);
  const diagnosis = await diagnose(context, logger);
  if (json) stdout.write(jsonText(diagnosisJson(diagnosis)));
  else stdout.write(diagnosisText(diagnosis, styleFor(stdout, context.terminal.env), stdout.columns));
  const isUsable = diagnosis.runners.some(({ probe }) => probe.available);
  return isUsable ? 0 : errorExitCodes.runner_unavailable;
}

function misplaced(message: string): CodecellError {
  return new CodecellError("usage", message, { hint: "`codecell help doctor` shows the options" });
}

async function diagnose(context: CommandContext, logger: Logger): Promise<Diagnosis> {
  const there = await context.runners(logger);
  const strongestFirst = [...there].sort((a, b) => compareIsolation(b.isolation, a.isolation));
  const runners = await Promise.all(
    strongestFirst.map(async (runner) => {
      const { name, insideSandbox, controlsMachine } = runner;
      return { name, insideSandbox, controlsMachine, probe: await runner.probe({ isPatient: true, isFresh: true }) };
    }),
  );
  const choice = await chooseForAuto(there);
  const system = `${platform()} ${release()} ${arch()}`;
  const outer = await findOuterSandbox(context.terminal.env);
  return { runners, choice, outer, versions: { codecell: codecellVersion(), node: process.versions.node, system } };
}

/** `open` disposes the runners, even if none of them can be used. */
async function chooseForAuto(runners: Awaited<ReturnType<CommandContext["runners"]>>): Promise<Diagnosis["choice"]> {
  try {
    await using codecell = await LiveSessions.open({ policy: parsePolicy({}), runners });
    return { runner: codecell.runner, passedOver: codecell.choice.passedOver };
  } catch {
    return undefined;
  }
}
