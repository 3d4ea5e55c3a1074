import { CodecellError } from "../../../lib/errors.ts";
import { defaultLanguage, type Language } from "../../../policy/languages.ts";
import { codecellVersion } from "../../../service/version.ts";
import type { Codecell } from "../../../sessions/codecell.ts";
import type { Run, RunResult } from "../../../sessions/runs/run.ts";
import type { Session } from "../../../sessions/session.ts";
import { resultRemarks } from "../format/format-run.ts";
import { variablesText } from "../format/format-variables.ts";
import { printRun } from "../format/print-run.ts";
import { safeText } from "../format/text/safe-text.ts";
import { type Style, styleFor } from "../format/text/style.ts";
import { packageHint } from "../packages/package-hint.ts";
import type { Plots } from "../plots/plots.ts";
import { bringBack } from "../sessions/bring-back.ts";
import { printHint } from "../sessions/run-project.ts";
import { asksAgain } from "../shell/asks-again.ts";
import { signalExitCodes } from "../shell/exit-codes.ts";
import { failureText } from "../shell/report-failure.ts";
import type { Terminal } from "../shell/terminal.ts";
import { ColouredTracebacks, withStderr } from "./colour-tracebacks.ts";
import { historyText, namesText } from "./command-texts.ts";
import { inspectionText } from "./inspection-text.ts";
import { completeLine } from "./repl-completer.ts";
import { type ReplEntry, readEntry } from "./repl-entry.ts";
import type { ReplHistory } from "./repl-history.ts";
import { ReplLines } from "./repl-lines.ts";

export interface ReplOptions {
  /** the kept session; undefined: one that ends with the repl */
  readonly name?: string | undefined;
  readonly help: string;
  /** where pictures are saved and shown */
  readonly plots: Plots;
}

/** Reads entries until the end, and performs them in one session. */
export class Repl {
  readonly #codecell: Codecell;
  readonly #terminal: Terminal;
  readonly #history: ReplHistory;
  readonly #options: ReplOptions;
  readonly #style: Style;
  readonly #stderr: ColouredTracebacks;
  /** what was run, for a session whose history is not on disk */
  readonly #performed: { readonly language: string; readonly code: string }[] = [];
  #typed: string[] = [];
  #session: Session | undefined;
  #running: Run | undefined;
  #lastState: RunResult["state"] = "kept";
  #exitCode = 0;

  constructor(codecell: Codecell, terminal: Terminal, history: ReplHistory, options: ReplOptions) {
    this.#codecell = codecell;
    this.#terminal = terminal;
    this.#history = history;
    this.#options = options;
    this.#style = styleFor(terminal.stdout, terminal.env);
    this.#stderr = new ColouredTracebacks(terminal.stderr, styleFor(terminal.stderr, terminal.env));
  }

  /** Returns the exit code: 0, or that of a signal. */
  async run(): Promise<number> {
    await this.#greet(await this.#open());
    const prompts = { first: this.#style.green(">>> "), more: this.#style.green("... ") };
    using lines = new ReplLines(this.#terminal, this.#history, prompts, {
      onInterrupt: () => this.#running?.interrupt(),
      complete: (line) => completeLine(line, this.#typed, this.#session),
    });
    using _signals = this.#terminal.onSignal((signal) => {
      if (signal === "SIGINT" && this.#running) return this.#running.interrupt();
      if (this.#exitCode !== 0) return asksAgain(signal) ? this.#terminal.exitNow(this.#exitCode) : undefined;
      this.#exitCode = signalExitCodes[signal];
      lines.end();
      void this.#session?.[Symbol.asyncDispose]().catch(() => {});
    });
    await this.#loop(lines);
    return this.#exitCode;
  }

  /** The session, and what its last run left of its variables; undefined: a signal has closed it. */
  get left(): { readonly session: Session; readonly state: RunResult["state"] } | undefined {
    return this.#session && this.#exitCode === 0 ? { session: this.#session, state: this.#lastState } : undefined;
  }

  async #loop(lines: ReplLines): Promise<void> {
    for (let isPasted = false; ; ) {
      const answer = await lines.next(this.#typed.length === 0);
      if (answer === "cleared") {
        this.#terminal.stdout.write("\n");
        this.#typed = [];
        isPasted = false;
        continue;
      }
      const atEnd = answer === "end";
      if (answer !== "end") this.#typed.push(answer.line);
      if (answer !== "end" && answer.isPasted) {
        isPasted = true;
        continue;
      }
      const entry = readEntry(this.#typed, { atEnd, isPasted, mayInstall: this.#mayInstall });
      if (entry.kind === "more") continue;
      this.#typed = [];
      isPasted = false;
      if (entry.kind === "exit" || this.#exitCode !== 0) return;
      await this.#perform(entry).catch((error: unknown) => this.#tell(error));
      if (atEnd) {
        if (this.#terminal.interactive) this.#terminal.stdout.write("\n");
        return;
      }
    }
  }

  async #perform(entry: ReplEntry): Promise<void> {
    const { stdout, stderr } = this.#terminal;
    switch (entry.kind) {
      case "code":
        return this.#execute(entry.code, entry.language);
      case "capture":
        return this.#capture(entry.name, entry.code, entry.language);
      case "inspect":
        return this.#inspect(entry.name, entry.withSource);
      case "vars":
        return stdout.write(variablesText(await (await this.#open()).variables(), this.#style, stdout.columns));
      case "who":
        return stdout.write(namesText(await (await this.#open()).variables(), stdout.columns));
      case "history":
        return stdout.write(historyText(await this.#entries(entry.limit)));
      case "reset":
        await (await this.#open()).reset();
        return stderr.write("codecell: deleted every variable; files are kept\n");
      case "help":
        return stdout.write(`${this.#options.help}\n`);
      case "unknown":
        return stderr.write(`codecell: ${safeText(entry.message)}\n`);
    }
  }

  async #execute(code: string, language: Language): Promise<void> {
    const { run } = await this.#start(code, language);
    void run.then(
      ({ error }) => error?.traceback && this.#stderr.expect(error.traceback),
      () => {},
    );
    const expectedNote = this.#session?.restored?.note;
    const terminal = withStderr(this.#terminal, this.#stderr);
    const result = await this.#ended(
      printRun(run, terminal, { showResult: true, hasNext: true, plots: this.#options.plots, expectedNote }),
    );
    printHint(packageHint(result, this.#mayInstall), this.#terminal);
  }

  /** `x = !command`: the lines that it prints become a list. */
  async #capture(name: string, code: string, language: Language): Promise<void> {
    const { stderr, env } = this.#terminal;
    const { run } = await this.#start(code, language, { language: defaultLanguage, code: `${name} = !${code}` });
    const result = await this.#ended(run);
    const mark = styleFor(stderr, env).yellow("codecell:");
    stderr.write(safeText(result.stderr));
    for (const remark of resultRemarks(result, { hasNext: true })) stderr.write(`${mark} ${safeText(remark)}\n`);
    if (result.truncated || (result.status !== "ok" && result.status !== "error")) {
      stderr.write(`${mark} ${name} was not changed\n`);
      return;
    }
    const lines = result.stdout.replace(/\n$/, "").split("\n");
    await (await this.#open()).set(name, result.stdout === "" ? [] : lines);
  }

  async #inspect(name: string, withSource: boolean): Promise<void> {
    const facts = await (await this.#open()).inspect(name, { source: withSource });
    if (facts) this.#terminal.stdout.write(inspectionText(facts, this.#style, withSource));
    else this.#terminal.stderr.write(`codecell: there is no ${safeText(name)} in this session\n`);
  }

  /** The run is wrapped, because an async function that returns a run awaits it. */
  async #start(code: string, language: Language, entry = { language, code }): Promise<{ readonly run: Run }> {
    const session = await this.#open();
    this.#performed.push(entry);
    const run = session.run(code, { language });
    this.#running = run;
    return { run };
  }

  async #ended(result: Promise<RunResult>): Promise<RunResult> {
    try {
      const ended = await result;
      this.#lastState = ended.state;
      return ended;
    } finally {
      this.#running = undefined;
    }
  }

  /** The latest entries, oldest first: of a kept session also those of earlier calls. */
  async #entries(limit: number): Promise<readonly { readonly language: string; readonly code: string }[]> {
    return this.#options.name === undefined ? this.#performed.slice(-limit) : (await this.#open()).history(limit);
  }

  /** The session, or a new one if its cell is gone. Variables are lost then, so this is reported. */
  async #open(): Promise<Session> {
    const before = this.#session;
    if (before?.state === "live") return before;
    await before?.close().catch(() => {});
    const { name } = this.#options;
    const session = await this.#codecell.session(name);
    if (name !== undefined) await bringBack(session);
    this.#session = session;
    if (before) {
      const lost = "the session was closed and its variables are lost; this is a new session";
      const restored = "the session was closed; its variables are as they were at the last save";
      this.#terminal.stderr.write(`codecell: ${name === undefined ? lost : restored}\n`);
    }
    return session;
  }

  async #greet(session: Session): Promise<void> {
    if (!this.#terminal.interactive) return;
    const receipt = await session.receipt();
    const runner = `${receipt.runner} runner (${receipt.runnerVersion})`;
    const kept = this.#options.name === undefined ? "" : ` Session ${session.id}, run ${session.info.runs + 1}.`;
    this.#terminal.stdout.write(
      `codecell ${codecellVersion()}: Python ${await session.pythonVersion()} in the ${runner}.${kept} ` +
        "%help for help, Ctrl-D to exit.\n",
    );
  }

  get #mayInstall(): boolean {
    return this.#codecell.policy.kernel.packages.inside;
  }

  #tell(error: unknown): void {
    if (!(error instanceof CodecellError)) throw error;
    this.#terminal.stderr.write(failureText(error, styleFor(this.#terminal.stderr, this.#terminal.env)));
  }
}
