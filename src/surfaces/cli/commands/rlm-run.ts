import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import { type UsdLimit, unlimited } from "../../../policy/host-calls/llm-rules.ts";
import { modelSource } from "../../../service/rlm/model-source.ts";
import {
  openCache,
  openTape,
  type RlmResult,
  runRlm,
  sessionCell,
  signatureOf,
} from "../../../service/rlm/rlm-runs.ts";
import type { Command, CommandContext } from "../command.ts";
import { jsonText } from "../format/text/json-text.ts";
import { safeText } from "../format/text/safe-text.ts";
import { styleFor } from "../format/text/style.ts";
import { policyOptions } from "../policy/policy-options.ts";
import { giveFiles, parseInputs } from "../rlm/rlm-inputs.ts";
import { RlmLiveView } from "../rlm/rlm-live-view.ts";
import { openForCommand } from "../sessions/open-for-command.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { openCommandLogger } from "../shell/command-logger.ts";
import { signalExitCodes } from "../shell/exit-codes.ts";
import { Interruption } from "../shell/interruption.ts";
import { logOptions } from "../shell/log-options.ts";
import { modelChoice, modelOptions } from "../shell/model-options.ts";
import { stateDirOf, stateOptions } from "../shell/state-dir.ts";

const options = {
  signature: {
    type: "string",
    short: "s",
    value: "SIGNATURE",
    help: "Inputs and outputs, or the name of a ready one.",
  },
  input: { type: "string", multiple: true, value: "NAME=FILE", help: "An input from a file. Repeatable." },
  value: { type: "string", multiple: true, value: "NAME=TEXT", help: "An input that is a text. Repeatable." },
  instructions: { type: "string", value: "TEXT", help: "What to do, in addition to the signature." },
  ...modelOptions,
  model: {
    ...modelOptions.model,
    help: "Model that writes the code, such as anthropic/claude-sonnet-5-5. Default: $CODECELL_MODEL.",
  },
  "max-usd": {
    type: "string",
    value: "USD",
    help: "Most money for the whole run, or unlimited. Default: llm.usd of the policy.",
  },
  "max-calls": { type: "string", value: "N", help: "Most model calls below the root. Default: llm.calls." },
  "max-tokens": { type: "string", value: "N", help: "Most tokens for the whole run. Default: llm.tokens." },
  "max-turns": { type: "string", value: "N", help: "Most turns of the root model. Default: 20." },
  depth: { type: "string", value: "N", help: "Levels of sub-agents, 0 to 3. Default: llm.depth." },
  trajectory: {
    type: "string",
    value: "FILE",
    help: "Where to record the run. Default: trajectories/ in the state directory.",
  },
  record: { type: "string", value: "FILE", help: "Record every model call, to replay the run without a model." },
  replay: { type: "string", value: "FILE", help: "Answer from a recording. Nothing is sent to a model." },
  resume: { type: "string", value: "FILE", help: "Go on where a recorded run stopped." },
  cache: { type: "boolean", help: "Answer equal sub-calls from earlier runs, at no cost." },
  ...policyOptions,
  ...stateOptions,
  json: { type: "boolean", help: "Print the result as one JSON object." },
  quiet: { type: "boolean", short: "q", help: "Print no progress." },
  verbose: { type: "boolean", help: "Print the policy, the runner and what the flags changed to stderr." },
  ...logOptions,
  ...commonOptions,
} as const;

export const rlmRunCommand: Command = {
  name: "rlm run",
  summary: "Let a model answer by writing and running code over large inputs",
  usage: "codecell rlm run --signature SIGNATURE [--input NAME=FILE …] [options]",
  options,
  notes: [
    "The model sees only the type, length and beginning of each input. It writes code that looks into them, calls models on parts " +
      "(llm_query) and sub-agents (rlm_query), and ends with typed outputs.",
    "Files with the endings .json, .jsonl and .csv are parsed, unless the input is a str. Any other file is a text in UTF-8. A --value is " +
      "converted to the type of its input.",
    "Keys come from the environment: ANTHROPIC_API_KEY or OPENAI_API_KEY, with ANTHROPIC_BASE_URL or OPENAI_BASE_URL for other servers. " +
      "They never enter the cell.",
    "--model, --sub-model and the --max flags change the policy for this run: you type them, so they may also raise its limits. " +
      "CODECELL_MODEL and CODECELL_SUB_MODEL only choose among the models that the policy allows.",
    "Exit code: 0 outputs were submitted or extracted, 1 there are no outputs, 2 usage error, 3 refused by policy, 4 no model, key, price " +
      "or runner, 130 interrupted.",
  ],
  examples: [
    [
      `codecell rlm run -s 'question, docs: list[str] -> answer, score: float' --value question='Who won?' --input docs=games.jsonl --model anthropic/claude-sonnet-5-5`,
      "ask about a large file",
    ],
    [
      "codecell rlm run -s summarize --input text=book.txt --max-usd 0.50",
      "a ready signature, with a hard cap on money",
    ],
    [
      "codecell rlm run -s 'text -> names: list[str]' --input text=book.txt --record run.tape --json",
      "for programs, and recorded",
    ],
    [
      "codecell rlm run -s 'text -> names: list[str]' --input text=book.txt --replay run.tape",
      "the same again, without a model",
    ],
  ],
  run: runRlmCommand,
};

type Flags = ReturnType<typeof parseArguments<typeof options>>["values"];

async function runRlmCommand(argv: readonly string[], context: CommandContext): Promise<number> {
  const { terminal } = context;
  const { values: flags } = parseArguments("rlm run", argv, options, 0);
  const { signature: text } = flags;
  if (text === undefined) {
    throw new CodecellError("usage", "`codecell rlm run` needs --signature", {
      hint: `such as --signature 'question, text -> answer'`,
    });
  }
  const signature = signatureOf(text);
  const inputs = parseInputs(flags.input, flags.value);
  using interruption = new Interruption(terminal);
  try {
    using logger = openCommandLogger(flags, terminal);
    const rules = { persist: false, llm: llmOverride(flags), usesModels: true };
    await using codecell = await openForCommand(flags, context, logger, rules);
    const source = modelSource(terminal.env, modelChoice(flags, terminal));
    await using tape = await openTape(inDirectory(flags, terminal.cwd));
    const access = await source.open(() => codecell.policy, { isReplay: flags.replay !== undefined });
    interruption.signal.throwIfAborted();
    const session = await codecell.session();
    await giveFiles(session, signature, inputs, terminal.cwd);
    const stateDir = stateDirOf(flags, terminal);
    const trajectoryPath = await trajectoryOf(flags, terminal.cwd, stateDir);
    const limits = access.limits(flags["max-turns"] === undefined ? {} : { maxIters: count(flags, "max-turns") });
    const run = runRlm({
      ...{ signature, cell: sessionCell(session), root: access.root, sub: access.sub, limits, budget: access.budget },
      inputs: Object.fromEntries(
        inputs.map((input) => [input.name, "value" in input ? { value: input.value } : { var: input.name }]),
      ),
      models: access.gateway({
        ...{ session: session.key, audit: session.managed.audit?.audit },
        ...(tape ? { tape } : {}),
        ...(flags.cache ? { cache: openCache(join(stateDir, "answers")) } : {}),
      }),
      ...(flags.instructions === undefined ? {} : { instructions: flags.instructions }),
      ...{ trajectoryPath, signal: interruption.signal },
    });
    let isInterrupted = false;
    interruption.watch({
      interrupt() {
        isInterrupted = true;
        run.cancel("you interrupted it");
      },
    });
    if (!flags.quiet) await follow(run.events, terminal, limits.maxUsd);
    const result = await run.result;
    if (flags.json)
      terminal.stdout.write(jsonText({ ...resultJson(run.id, result), spent: access.budget.snapshot().spent }));
    else printResult(result, context);
    if (isInterrupted && result.finish === "cancelled") return interruption.exitCode ?? signalExitCodes.SIGINT;
    return interruption.exitCode ?? (result.outputs === null ? 1 : 0);
  } catch (error) {
    if (interruption.exitCode !== undefined) return interruption.exitCode;
    throw error;
  }
}

/** The operator types the flags and could edit the policy as well. */
function llmOverride(flags: Flags) {
  return {
    models: [flags.model, flags["sub-model"]].filter((name): name is string => name !== undefined && name !== ""),
    ...(flags["max-usd"] === undefined ? {} : { usd: amount(flags, "max-usd") }),
    ...(flags["max-calls"] === undefined ? {} : { calls: count(flags, "max-calls") }),
    ...(flags["max-tokens"] === undefined ? {} : { tokens: count(flags, "max-tokens") }),
    ...(flags.depth === undefined ? {} : { depth: count(flags, "depth") }),
  };
}

function amount(flags: Flags, name: "max-usd"): UsdLimit {
  if (flags[name] === unlimited) return unlimited;
  const value = Number(flags[name]);
  if (Number.isFinite(value) && value > 0) return value;
  throw new CodecellError("usage", `--${name} ${flags[name] || "''"} is not an amount above 0`, {
    hint: "use dollars, such as 0.50, or unlimited",
  });
}

function count(flags: Flags, name: "max-calls" | "max-tokens" | "max-turns" | "depth"): number {
  const text = flags[name] || "''";
  const value = Number(text);
  const [least, most] = name === "depth" ? [0, 3] : [1, Number.MAX_SAFE_INTEGER];
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  const range = name === "depth" ? "from 0 to 3" : "above 0";
  throw new CodecellError("usage", `--${name} ${text} is not a whole number ${range}`);
}

function inDirectory({ record, replay, resume }: Flags, cwd: string) {
  const at = (file: string | undefined) => (file === undefined ? undefined : resolve(cwd, file));
  return { record: at(record), replay: at(replay), resume: at(resume) };
}

async function trajectoryOf(flags: Flags, cwd: string, stateDir: string): Promise<string> {
  if (flags.trajectory !== undefined) return resolve(cwd, flags.trajectory);
  const directory = join(stateDir, "trajectories");
  await mkdir(directory, { recursive: true, mode: 0o700 });
  return join(directory, `${new Date().toISOString().replaceAll(/[:.]/g, "-")}-${process.pid}.jsonl`);
}

async function follow(
  events: ReturnType<typeof runRlm>["events"],
  { stderr, env }: CommandContext["terminal"],
  maxUsd: number | null,
) {
  const view = new RlmLiveView((line) => stderr.write(`${line}\n`), {
    ...{ style: styleFor(stderr, env), maxUsd, width: stderr.isTTY ? stderr.columns : 200 },
  });
  for await (const event of events) view.show(event);
}

function printResult(result: RlmResult, { terminal }: CommandContext): void {
  const { stdout, stderr } = terminal;
  const { outputs, message, error, trajectoryPath } = result;
  for (const [name, value] of Object.entries(outputs ?? {})) {
    stdout.write(`${safeText(`${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)}\n`);
  }
  if (outputs === null) {
    const hint = error?.hint === undefined ? "" : `\n  hint: ${error.hint}`;
    stderr.write(`codecell: no outputs: ${safeText(`${message ?? result.finish}${hint}`)}\n`);
  }
  if (trajectoryPath !== undefined && stderr.isTTY) stderr.write(`codecell rlm show ${trajectoryPath}\n`);
}

function resultJson(runId: string, result: RlmResult) {
  const { finish, outputs, limit, message, iterations, usage, calls, cacheHits, durationMs, trajectoryPath } = result;
  return {
    ...{ run_id: runId, finish, outputs, limit: limit ?? null, message: message ?? null, turns: iterations },
    ...{ model_calls: calls, cache_hits: cacheHits, usage, duration_ms: Math.round(durationMs) },
    trajectory: trajectoryPath ?? null,
  };
}
