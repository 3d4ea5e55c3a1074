import { checkSessionId } from "../../../sessions/session-id.ts";
import type { Command, CommandContext } from "../command.ts";
import { openPlots } from "../plots/open-plots.ts";
import { plotOptions } from "../plots/plot-options.ts";
import { policyOptions } from "../policy/policy-options.ts";
import { Repl } from "../repl/repl.ts";
import { ReplHistory } from "../repl/repl-history.ts";
import { saveAtExit } from "../repl/save-at-exit.ts";
import { openForCommand } from "../sessions/open-for-command.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { openCommandLogger } from "../shell/command-logger.ts";
import { logOptions } from "../shell/log-options.ts";
import { stateOptions } from "../shell/state-dir.ts";

const options = {
  session: {
    type: "string",
    value: "NAME",
    help: "Use a named session, which keeps variables, history and files for the next call.",
  },
  ...plotOptions,
  ...policyOptions,
  ...stateOptions,
  verbose: { type: "boolean", help: "Print the policy, the runner and what the flags changed to stderr." },
  ...logOptions,
  ...commonOptions,
} as const;

const replHelp = [
  "Type Python as in its own prompt. Variables are kept from one entry to the next.",
  "A line that ends with ':' opens a block; an empty line closes it. Pasted code keeps its empty lines; Enter runs it.",
  "  x?, x??       show what x is: type, signature, docstring; with ?? its source code",
  "  !COMMAND      run a command in bash; its directory and variables are kept",
  "  x = !COMMAND  put the lines that a command prints into a list",
  "  %timeit CODE  measure how long a line takes; -n LOOPS and -r REPEATS before it set how often it runs",
  "  %who, %whos   list the variables: names, or with types, sizes and values (also %vars)",
  "  %history [N]  show the latest entries",
  "  %reset        delete every variable; keep files",
  "  %help         show this help",
  "  %exit         exit (also Ctrl-D)",
  "Tab completes names, attributes, keys, files and modules. Ctrl-R searches in earlier lines.",
  "Ctrl-C interrupts the running code, or clears the line.",
].join("\n");

export const replCommand: Command = {
  name: "repl",
  summary: "Open an interactive session that keeps its variables",
  usage: "codecell repl [options]",
  options,
  notes: [
    replHelp,
    "If stdin is not a terminal, the repl reads lines to the end and shows no prompt.",
    "With --session, the variables are saved on exit, and `codecell run --session` and the next repl find them. A session takes " +
      "one call at a time; another call meanwhile is refused (exit code 75).",
  ],
  examples: [
    ["codecell repl", "a session under ./sandbox.policy.yaml, else the strictest policy"],
    ["codecell repl --runner wasm --timeout 5m", "in WASM, with a timeout of five minutes per entry"],
    ["codecell repl --session work", "keep variables and history for the next call with --session work"],
    ["printf 'x = 6\\nx * 7\\n' | codecell repl", "read lines from a pipe"],
  ],
  run: runRepl,
};

async function runRepl(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values } = parseArguments("repl", argv, options, 0);
  const { terminal } = context;
  const name = values.session === undefined ? undefined : checkSessionId(values.session);
  const history = new ReplHistory(terminal.env);
  if (terminal.interactive) await history.load();
  await using plots = await openPlots(values, terminal, name);
  using logger = openCommandLogger(values, terminal);
  await using codecell = await openForCommand(values, context, logger, { persist: name !== undefined });
  const repl = new Repl(codecell, terminal, history, { name, help: replHelp, plots });
  const code = await repl.run();
  if (terminal.interactive) await history.save();
  return name === undefined || repl.left === undefined ? code : saveAtExit(repl.left, terminal);
}
