import { closeSync, fstatSync } from "node:fs";
import { isatty } from "node:tty";
import { messageOf } from "../../../lib/errors.ts";
import { diskFailure } from "../../../lib/files/disk-failure.ts";
import { signalExitCodes } from "./exit-codes.ts";
import { OutputLost } from "./output-lost.ts";
import { SpillingWriter } from "./spilling-writer.ts";
import type { Output, Terminal, TerminalSignal } from "./terminal.ts";

/** The terminal of this process. */
export function processTerminal(): Terminal {
  const lost = new LostOutput();
  leaveClosedTerminal();
  return {
    // Opened when somebody reads it, because most commands do not.
    get stdin() {
      return process.stdin;
    },
    get hasPipedStdin() {
      return hasPipedStdin();
    },
    stdout: output(process.stdout),
    stderr: output(process.stderr),
    ...(process.stdout.isTTY && process.stdin.isTTY
      ? { interactive: { input: process.stdin, output: process.stdout } }
      : {}),
    env: process.env,
    cwd: process.cwd(),
    onSignal: (handler) => onSignal(handler, lost),
    exitNow: (code) => process.exit(code),
  };
}

/** Node aborts when it exits and cannot set back a terminal that was closed, unless its descriptor is closed too. */
function leaveClosedTerminal(): void {
  const terminals = [0, 1, 2].filter(isatty);
  process.once("exit", () => {
    for (const fd of terminals) if (!isatty(fd)) closeSync(fd);
  });
}

function hasPipedStdin(): boolean {
  try {
    const stdin = fstatSync(0);
    return stdin.isFIFO() || stdin.isFile() || stdin.isSocket();
  } catch {
    return false;
  }
}

function output(stream: NodeJS.WriteStream): Output {
  const isTTY = stream.isTTY === true;
  const writer = new SpillingWriter(stream);
  return {
    isTTY,
    get columns() {
      return isTTY ? stream.columns || 80 : Number.POSITIVE_INFINITY;
    },
    write: (text) => writer.write(text),
    writeBytes: (bytes) =>
      new Promise((resolve, reject) => {
        stream.write(bytes, (error) => (error ? reject(new OutputLost(lossOf(error))) : resolve()));
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
      // Keep the handler of lost output: buffered output may fail after the command is done.
      for (const one of undo) one();
    },
  };
}

function lossOf(error: NodeJS.ErrnoException): OutputLost["signal"] {
  return error.code === "EPIPE" ? "SIGPIPE" : "EIO";
}

/** Handles output that cannot be written: a closed pipe (`codecell … | head`), or a full disk behind a redirection. */
class LostOutput {
  /** set by a command that must clean up first; without one the process exits */
  handler: ((signal: TerminalSignal) => void) | undefined;
  #isReported = false;

  constructor() {
    for (const stream of [process.stdout, process.stderr]) {
      stream.on("error", (error: NodeJS.ErrnoException) => this.#on(error, stream));
    }
  }

  #on(error: NodeJS.ErrnoException, stream: NodeJS.WriteStream): void {
    const signal = lossOf(error);
    // The error may arrive after the command is done. Its output was lost, so its exit code must not be 0.
    process.once("exit", () => {
      process.exitCode ||= signalExitCodes[signal];
    });
    // A closed pipe is no error for the user. A full disk has to be reported.
    if (signal === "EIO" && stream === process.stdout) this.#tell(error);
    if (this.handler) this.handler(signal);
    else process.exit(signalExitCodes[signal]);
  }

  #tell(error: NodeJS.ErrnoException): void {
    if (this.#isReported) return;
    this.#isReported = true;
    process.stderr.write(`codecell: the output is incomplete: ${messageOf(diskFailure(error) ?? error)}\n`);
  }
}
