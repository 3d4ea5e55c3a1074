import { messageOf } from "../../../lib/errors.ts";
import { diskFailure } from "../../../lib/files/disk-failure.ts";
import { signalExitCodes } from "./exit-codes.ts";
import type { Output, Terminal, TerminalSignal } from "./terminal.ts";

/** The terminal of this process. */
export function processTerminal(): Terminal {
  const lost = new LostOutput();
  return {
    stdin: process.stdin,
    stdout: output(process.stdout),
    stderr: output(process.stderr),
    ...(process.stdin.isTTY && process.stdout.isTTY
      ? { interactive: { input: process.stdin, output: process.stdout } }
      : {}),
    env: process.env,
    cwd: process.cwd(),
    onSignal: (handler) => onSignal(handler, lost),
    exitNow: (code) => process.exit(code),
  };
}

function output(stream: NodeJS.WriteStream): Output {
  const isTTY = stream.isTTY === true;
  return {
    isTTY,
    get columns() {
      return isTTY ? stream.columns || 80 : Number.POSITIVE_INFINITY;
    },
    write: (text) => void stream.write(text),
    writeBytes: (bytes) =>
      new Promise((resolve, reject) => {
        stream.write(bytes, (error) => (error ? reject(error) : resolve()));
      }),
  };
}

function onSignal(handler: (signal: TerminalSignal) => void, lost: LostOutput): Disposable {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  const undo = signals.map((signal) => {
    const listener = () => handler(signal);
    process.on(signal, listener);
    return () => process.off(signal, listener);
  });
  lost.handler = handler;
  return {
    [Symbol.dispose]() {
      // The handler of lost output stays: what is still buffered may fail after the command is done.
      for (const one of undo) one();
    },
  };
}

/** What is done about output that nobody takes: `codecell … | head`, or a full disk behind a redirection. */
class LostOutput {
  /** of a command that has something to end first; without one the process leaves */
  handler: ((signal: TerminalSignal) => void) | undefined;
  #isTold = false;

  constructor() {
    for (const stream of [process.stdout, process.stderr]) {
      stream.on("error", (error: NodeJS.ErrnoException) => this.#on(error, stream));
    }
  }

  #on(error: NodeJS.ErrnoException, stream: NodeJS.WriteStream): void {
    const signal = error.code === "EPIPE" ? "SIGPIPE" : "EIO";
    // the reader of a pipe knows that it left; a disk tells nobody
    if (signal === "EIO" && stream === process.stdout) this.#tell(error);
    if (this.handler) this.handler(signal);
    else process.exit(signalExitCodes[signal]);
  }

  #tell(error: NodeJS.ErrnoException): void {
    if (this.#isTold) return;
    this.#isTold = true;
    // The command may be done by the time the system says so, and what it answered was not received.
    process.once("exit", () => {
      process.exitCode ||= signalExitCodes.EIO;
    });
    process.stderr.write(`codecell: the output is cut: ${messageOf(diskFailure(error) ?? error)}\n`);
  }
}
