import type { TerminalSignal } from "./terminal.ts";

/** A write to stdout or stderr failed. The terminal has already told the user what there is to tell. */
export class OutputLost extends Error {
  readonly signal: Extract<TerminalSignal, "SIGPIPE" | "EIO">;

  constructor(signal: OutputLost["signal"]) {
    super("the output cannot be written");
    this.signal = signal;
  }
}
