import { signalExitCodes } from "./exit-codes.ts";
import type { Terminal, TerminalSignal } from "./terminal.ts";

/**
 * What Ctrl-C and other signals mean to a command: the first Ctrl-C interrupts the run and keeps its state, the second
 * ends everything. Asking again after that leaves at once.
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

  /** Aborted when everything must end. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The exit code that a signal asked for; undefined: none did. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  /** Whether everything ends because the output cannot be written any more. */
  get lostOutput(): boolean {
    return this.#exitCode === signalExitCodes.EIO || this.#exitCode === signalExitCodes.SIGPIPE;
  }

  /** The run that the next Ctrl-C interrupts; undefined: there is none. */
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
      // a terminal shows ^C where the cursor stands
      const newline = this.#terminal.stderr.isTTY ? "\n" : "";
      this.#terminal.stderr.write(`${newline}codecell: interrupting; Ctrl-C again ends it\n`);
      run.interrupt();
    } else if (this.#exitCode === undefined) {
      this.#exitCode = code;
      this.#controller.abort(new Error(`${signal} was received`));
    } else {
      this.#terminal.exitNow(code);
    }
  }
}
