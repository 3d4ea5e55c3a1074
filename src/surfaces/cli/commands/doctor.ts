import { arch, platform, release } from "node:os";
import { type Logger, silentLogger } from "../../../lib/log/logger.ts";
import { parsePolicy } from "../../../policy/file/parse-policy.ts";
import { compareIsolation } from "../../../policy/isolation.ts";
import { codecellVersion } from "../../../service/version.ts";
import { LiveSessions } from "../../../sessions/live-sessions.ts";
import { findOuterSandbox } from "../../../sessions/outer-sandbox.ts";
import type { Command, CommandContext } from "../command.ts";
import { type Diagnosis, diagnosisJson, diagnosisText } from "../format/format-doctor.ts";
import { jsonText } from "../format/json-text.ts";
import { styleFor } from "../format/style.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { errorExitCodes } from "../shell/exit-codes.ts";
import { progressLogger } from "../shell/progress-logger.ts";

const options = { json: { type: "boolean", help: "Print one JSON object." }, ...commonOptions } as const;

export const doctorCommand: Command = {
  name: "doctor",
  summary: "Show which runners are available, and how to fix the others",
  usage: "codecell doctor [--json]",
  options,
  notes: ["Exit code: 0 if at least one runner is available, else 4."],
  examples: [
    ["codecell doctor", "the runners of this machine, strongest first"],
    ["codecell doctor --json", "the same, for programs"],
  ],
  run: runDoctor,
};

async function runDoctor(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values } = parseArguments("doctor", argv, options, 0);
  const { stdout } = context.terminal;
  // Somebody at a terminal sees what the wait is for. Programs get the answer alone.
  const logger = values.json || !stdout.isTTY ? silentLogger : progressLogger(context.terminal.stderr, false);
  const diagnosis = await diagnose(context, logger);
  if (values.json) stdout.write(jsonText(diagnosisJson(diagnosis)));
  else stdout.write(diagnosisText(diagnosis, styleFor(stdout, context.terminal.env), stdout.columns));
  const isUsable = diagnosis.runners.some(({ probe }) => probe.available);
  return isUsable ? 0 : errorExitCodes.runner_unavailable;
}

async function diagnose(context: CommandContext, logger: Logger): Promise<Diagnosis> {
  const there = await context.runners(logger);
  const strongestFirst = [...there].sort((a, b) => compareIsolation(b.isolation, a.isolation));
  const runners = await Promise.all(
    strongestFirst.map(async (runner) => {
      const { name, insideSandbox } = runner;
      return { name, insideSandbox, probe: await runner.probe({ isPatient: true, isFresh: true }) };
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
