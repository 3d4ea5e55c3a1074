import { asksAgain } from "./asks-again.ts";
import { signalExitCodes } from "./exit-codes.ts";
import type { Terminal, TerminalSignal } from "./terminal.ts";

/**
 * Handles Ctrl-C and other signals for a command: the first Ctrl-C interrupts the run and keeps its state, the second
 * stops everything, the third exits at once.
 */
export class Interruption implements Disposable {
  readonly #terminal: Terminal;
  readonly #controller = new AbortController();
  readonly #listening: Disposable;
  #run: { interrupt(): void } | undefined;
  #exitCode: number | undefined;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    this.#listening = terminal.onSignal((signal) => this.#on(signal));
  }

  /** Aborted when everything must stop. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The exit code of the signal; undefined: there was none. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  /** Whether the command stops because its output can no longer be written. */
  get lostOutput(): boolean {
    return this.#exitCode === signalExitCodes.EIO || this.#exitCode === signalExitCodes.SIGPIPE;
  }

  /** Sets the run that the next Ctrl-C interrupts; undefined: none. */
  watch(run: { interrupt(): void } | undefined): void {
    this.#run = run;
  }

  [Symbol.dispose](): void {
    this.#listening[Symbol.dispose]();
  }

  #on(signal: TerminalSignal): void {
    const code = signalExitCodes[signal];
    if (signal === "SIGINT" && this.#run !== undefined) {
      const run = this.#run;
      this.#run = undefined;
      // the terminal prints ^C at the cursor
      const newline = this.#terminal.stderr.isTTY ? "\n" : "";
      this.#terminal.stderr.write(`${newline}codecell: interrupting; press Ctrl-C again to kill it\n`);
      run.interrupt();
    } else if (this.#exitCode === undefined) {
      this.#exitCode = code;
      this.#controller.abort(new Error(`${signal} was received`));
    } else if (asksAgain(signal)) {
      this.#terminal.exitNow(code);
    }
  }
}
