import { CodecellError } from "../../../lib/errors.ts";
import type { Language } from "../../../policy/languages.ts";
import { codecellVersion } from "../../../service/version.ts";
import type { Codecell } from "../../../sessions/codecell.ts";
import type { Run } from "../../../sessions/runs/run.ts";
import type { Session } from "../../../sessions/session.ts";
import type { Command, CommandContext } from "../command.ts";
import { variablesText } from "../format/format-variables.ts";
import { printRun } from "../format/print-run.ts";
import { styleFor } from "../format/style.ts";
import { openPlots } from "../plots/open-plots.ts";
import { plotOptions } from "../plots/plot-options.ts";
import type { Plots } from "../plots/plots.ts";
import { policyOptions } from "../policy/policy-options.ts";
import { readEntry } from "../repl/repl-entry.ts";
import { ReplHistory } from "../repl/repl-history.ts";
import { ReplLines } from "../repl/repl-lines.ts";
import { openForCommand } from "../sessions/open-for-command.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { openCommandLogger } from "../shell/command-logger.ts";
import { signalExitCodes } from "../shell/exit-codes.ts";
import { logOptions } from "../shell/log-options.ts";
import { failureText } from "../shell/report-failure.ts";
import type { Terminal } from "../shell/terminal.ts";

const options = {
  ...plotOptions,
  ...policyOptions,
  verbose: { type: "boolean", help: "Print the policy, the runner and what the flags changed to stderr." },
  ...logOptions,
  ...commonOptions,
} as const;

const replHelp = [
  "Type Python as in its own prompt. Variables are kept from one entry to the next.",
  "A line that ends with ':' opens a block; an empty line closes it.",
  "  !COMMAND  run a command in bash; its directory and variables are kept",
  "  %vars     list the variables",
  "  %reset    delete every variable; keep files",
  "  %help     show this help",
  "  %exit     exit (also Ctrl-D)",
  "Ctrl-C interrupts the running code, or clears the line.",
].join("\n");

export const replCommand: Command = {
  name: "repl",
  summary: "Open an interactive session that keeps its variables",
  usage: "codecell repl [options]",
  options,
  notes: [replHelp, "If stdin is not a terminal, the repl reads lines to the end and shows no prompt."],
  examples: [
    ["codecell repl", "a session under ./sandbox.policy.yaml, else the strictest policy"],
    ["codecell repl --runner wasm --timeout 5m", "in WASM, with a timeout of five minutes per entry"],
    ["printf 'x = 6\\nx * 7\\n' | codecell repl", "read lines from a pipe"],
  ],
  run: runRepl,
};

async function runRepl(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values } = parseArguments("repl", argv, options, 0);
  const history = new ReplHistory(context.terminal.env);
  if (context.terminal.interactive) await history.load();
  await using plots = await openPlots(values, context.terminal);
  using logger = openCommandLogger(values, context.terminal);
  await using codecell = await openForCommand(values, context, logger, { persist: false });
  const repl = new Repl(codecell, context.terminal, history, plots);
  const code = await repl.run();
  if (context.terminal.interactive) await history.save();
  return code;
}

class Repl {
  readonly #codecell: Codecell;
  readonly #terminal: Terminal;
  readonly #history: ReplHistory;
  readonly #plots: Plots;
  #session: Session | undefined;
  #running: Run | undefined;
  #exitCode = 0;

  constructor(codecell: Codecell, terminal: Terminal, history: ReplHistory, plots: Plots) {
    this.#codecell = codecell;
    this.#terminal = terminal;
    this.#history = history;
    this.#plots = plots;
  }

  async run(): Promise<number> {
    await this.#greet(await this.#open());
    using lines = new ReplLines(this.#terminal, this.#history, () => this.#running?.interrupt());
    using _signals = this.#terminal.onSignal((signal) => {
      if (signal === "SIGINT" && this.#running) return this.#running.interrupt();
      if (this.#exitCode !== 0) this.#terminal.exitNow(this.#exitCode);
      this.#exitCode = signalExitCodes[signal];
      lines.end();
      void this.#session?.[Symbol.asyncDispose]().catch(() => {});
    });
    await this.#loop(lines);
    return this.#exitCode;
  }

  async #loop(lines: ReplLines): Promise<void> {
    for (let typed: string[] = []; ; ) {
      const answer = await lines.next(typed.length === 0 ? ">>> " : "... ");
      if (answer === "cleared") {
        this.#terminal.stdout.write("\n");
        typed = [];
        continue;
      }
      if (answer !== "end") typed.push(answer.line);
      const entry = readEntry(typed, answer === "end");
      if (entry.kind === "more") continue;
      typed = [];
      if (entry.kind === "exit" || this.#exitCode !== 0) return;
      await this.#perform(entry).catch((error: unknown) => this.#tell(error));
      if (answer === "end") {
        if (this.#terminal.interactive) this.#terminal.stdout.write("\n");
        return;
      }
    }
  }

  async #perform(entry: ReturnType<typeof readEntry>): Promise<void> {
    const { stdout, stderr, env } = this.#terminal;
    switch (entry.kind) {
      case "code":
        return this.#execute(entry.code, entry.language);
      case "vars": {
        const variables = await (await this.#open()).variables();
        return stdout.write(variablesText(variables, styleFor(stdout, env), stdout.columns));
      }
      case "reset":
        await (await this.#open()).reset();
        return stderr.write("codecell: deleted every variable; files are kept\n");
      case "help":
        return stdout.write(`${replHelp}\n`);
      case "unknown":
        return stderr.write(`codecell: ${entry.message}\n`);
    }
  }

  async #execute(code: string, language: Language): Promise<void> {
    const session = await this.#open();
    this.#running = session.run(code, { language });
    try {
      await printRun(this.#running, this.#terminal, { showResult: true, hasNext: true, plots: this.#plots });
    } finally {
      this.#running = undefined;
    }
  }

  /** The session, or a new one if its cell is gone. Its variables are lost then, so this is reported. */
  async #open(): Promise<Session> {
    const before = this.#session;
    if (before?.state === "live") return before;
    await before?.close().catch(() => {});
    this.#session = await this.#codecell.session();
    if (before)
      this.#terminal.stderr.write(
        "codecell: the session was closed and its variables are lost; this is a new session\n",
      );
    return this.#session;
  }

  async #greet(session: Session): Promise<void> {
    if (!this.#terminal.interactive) return;
    const receipt = await session.receipt();
    const runner = `${receipt.runner} runner (${receipt.runnerVersion})`;
    this.#terminal.stdout.write(
      `codecell ${codecellVersion()}: Python ${await session.pythonVersion()} in the ${runner}. ` +
        "%help for help, Ctrl-D to exit.\n",
    );
  }

  #tell(error: unknown): void {
    if (!(error instanceof CodecellError)) throw error;
    this.#terminal.stderr.write(failureText(error, styleFor(this.#terminal.stderr, this.#terminal.env)));
  }
}
