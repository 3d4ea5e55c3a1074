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
  ...policyOptions,
  verbose: { type: "boolean", help: "Say on stderr which policy and runner are used, and what the flags changed." },
  ...logOptions,
  ...commonOptions,
} as const;

const replHelp = [
  "Python, as in its own prompt: what one entry defines, the next one sees.",
  "A line that ends with ':' opens a block, which an empty line ends.",
  "  !COMMAND  run a command in bash; its directory and variables are kept",
  "  %vars     list the variables",
  "  %reset    forget every variable; files stay",
  "  %help     show this",
  "  %exit     leave (as Ctrl-D does)",
  "Ctrl-C interrupts what runs, or clears the line.",
].join("\n");

export const replCommand: Command = {
  name: "repl",
  summary: "A persistent session in the terminal",
  usage: "codecell repl [options]",
  options,
  notes: [replHelp, "When stdin is not a terminal, lines are read to its end and nothing is prompted."],
  examples: [
    ["codecell repl", "a session under ./sandbox.policy.yaml or the tightest policy"],
    ["codecell repl --runner wasm --timeout 5m", "in WASM, with five minutes per entry"],
    ["printf 'x = 6\\nx * 7\\n' | codecell repl", "lines from a pipe"],
  ],
  run: runRepl,
};

async function runRepl(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values } = parseArguments("repl", argv, options, 0);
  const history = new ReplHistory(context.terminal.env);
  if (context.terminal.interactive) await history.load();
  using logger = openCommandLogger(values, context.terminal);
  await using codecell = await openForCommand(values, context, logger, { persist: false });
  const repl = new Repl(codecell, context.terminal, history);
  const code = await repl.run();
  if (context.terminal.interactive) await history.save();
  return code;
}

class Repl {
  readonly #codecell: Codecell;
  readonly #terminal: Terminal;
  readonly #history: ReplHistory;
  #session: Session | undefined;
  #running: Run | undefined;
  #exitCode = 0;

  constructor(codecell: Codecell, terminal: Terminal, history: ReplHistory) {
    this.#codecell = codecell;
    this.#terminal = terminal;
    this.#history = history;
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
        return stderr.write("codecell: every variable is forgotten; files stay\n");
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
      await printRun(this.#running, this.#terminal, { showResult: true, hasNext: true });
    } finally {
      this.#running = undefined;
    }
  }

  /** The session, or a fresh one when its cell is gone: its variables went with it, so it says so. */
  async #open(): Promise<Session> {
    const before = this.#session;
    if (before?.state === "live") return before;
    await before?.close().catch(() => {});
    this.#session = await this.#codecell.session();
    if (before) this.#terminal.stderr.write("codecell: the session was over; this is a fresh one\n");
    return this.#session;
  }

  async #greet(session: Session): Promise<void> {
    if (!this.#terminal.interactive) return;
    const receipt = await session.receipt();
    const runner = `${receipt.runner} runner (${receipt.runnerVersion})`;
    this.#terminal.stdout.write(
      `codecell ${codecellVersion()}: Python ${await session.pythonVersion()} in the ${runner}. ` +
        "%help for help, Ctrl-D to leave.\n",
    );
  }

  #tell(error: unknown): void {
    if (!(error instanceof CodecellError)) throw error;
    this.#terminal.stderr.write(failureText(error, styleFor(this.#terminal.stderr, this.#terminal.env)));
  }
}
