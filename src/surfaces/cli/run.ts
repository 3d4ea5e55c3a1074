import { commonOptions, parseArguments } from "./arguments.ts";
import type { Command, CommandContext } from "./command.ts";
import { openCommandLogger } from "./command-logger.ts";
import { runExitCode } from "./exit-codes.ts";
import { runJson } from "./format-run.ts";
import { Interruption } from "./interruption.ts";
import { jsonText } from "./json-text.ts";
import { logOptions } from "./log-options.ts";
import { openForCommand } from "./open-for-command.ts";
import { policyOptions } from "./policy-options.ts";
import { printRun } from "./print-run.ts";
import { readCode } from "./read-code.ts";
import { runInSession } from "./run-in-session.ts";
import { stateOptions } from "./state-dir.ts";

const options = {
  code: { type: "string", short: "c", value: "CODE", help: "Code to run, instead of a file." },
  language: {
    type: "string",
    short: "l",
    value: "python|bash",
    help: "Default: by the file's extension, else python.",
  },
  session: {
    type: "string",
    value: "NAME",
    help: "Run in a session that is kept: variables, history and files are there for the next call.",
  },
  ...policyOptions,
  ...stateOptions,
  json: { type: "boolean", help: "Print one JSON object at the end instead of streaming." },
  verbose: { type: "boolean", help: "Say on stderr which policy and runner are used, and what the flags changed." },
  ...logOptions,
  ...commonOptions,
} as const;

export const runCommand: Command = {
  name: "run",
  summary: "Run a program, in a fresh cell or in a session that is kept",
  usage: "codecell run [FILE | - | -c CODE] [options]",
  options,
  notes: [
    "The program's output streams live. The value of a last expression is printed for -c and for stdin, not for a file.",
    "Exit code: 0 ok, 1 the program failed (or its own code), 2 usage, 3 refused by policy, 4 runner unavailable, " +
      "70 internal, 75 the session is in use, 124 time limit, 130 interrupted, 137 out of memory.",
    "Ctrl-C interrupts the program; a second one ends it.",
    "With --session the variables are saved before the command ends, one by one; what could not be saved or did not " +
      "come back is told on stderr. One call at a time: the next one meanwhile is refused (exit code 75).",
  ],
  examples: [
    ["codecell run script.py", "run a file"],
    ["codecell run -c 'sum(range(10))'", "run a line and print its value"],
    ["cat script.py | codecell run -", "run what comes on stdin"],
    ["codecell run job.sh --timeout 2m --mount ./data:/data", "bash, with a directory read-only at /data"],
    ["codecell run --session work -c 'x = 1'", "keep x for the next call with --session work"],
    ["codecell run -c '1/0' --json", "one JSON object, for programs"],
  ],
  run: runProgram,
};

async function runProgram(argv: readonly string[], context: CommandContext): Promise<number> {
  const { terminal } = context;
  const { values, positionals } = parseArguments("run", argv, options, 1);
  const code = await readCode(positionals[0], values, terminal);
  if (values.session !== undefined) return runInSession(values.session, code, values, context);
  using interruption = new Interruption(terminal);
  try {
    using logger = openCommandLogger(values, terminal);
    const { codecell, audit } = await openForCommand(values, context, logger);
    await using _audit = audit;
    await using opened = codecell;
    interruption.signal.throwIfAborted();
    const end = () => void opened[Symbol.asyncDispose]().catch(() => {});
    interruption.signal.addEventListener("abort", end, { once: true });
    const session = await opened.openSession({ signal: interruption.signal });
    const run = session.run(code.text, { language: code.language });
    interruption.watch(run);
    if (values.json) {
      const result = await run.result;
      terminal.stdout.write(jsonText({ ...runJson(result), session: null }));
      return interruption.exitCode ?? runExitCode(result);
    }
    const lostOutput = () => interruption.lostOutput;
    const result = await printRun(run, terminal, { showResult: code.from !== "file", hasNext: false, lostOutput });
    return interruption.exitCode ?? runExitCode(result);
  } catch (error) {
    // A signal during the start ends it with whatever error that causes; the signal is what the caller asked for.
    if (interruption.exitCode !== undefined) return interruption.exitCode;
    throw error;
  }
}
