import type { Terminal, TerminalSignal } from "./terminal.ts";

const lookAtParentEveryMs = 500;

/** Settles when whoever uses this server has gone: its end of the pipe, a signal, or its whole process. */
export async function clientGone(
  terminal: Terminal,
  over: "stdio" | "http",
  /** takes the signals that mean something else */
  isOther: (signal: TerminalSignal) => boolean = () => false,
): Promise<string> {
  const undo: (() => void)[] = [];
  try {
    return await new Promise<string>((resolve) => {
      const listening = terminal.onSignal((signal) => {
        if (!isOther(signal)) resolve(signal);
      });
      undo.push(() => listening[Symbol.dispose]());
      if (over === "http") return;
      const ended = () => resolve("the client closed standard input");
      for (const event of ["end", "close", "error"]) {
        terminal.stdin.once(event, ended);
        undo.push(() => terminal.stdin.off(event, ended));
      }
      // A client that was killed may leave the pipe open in a child of its own.
      const parent = process.ppid;
      const watch = setInterval(() => {
        if (process.ppid !== parent) resolve("the client's process has ended");
      }, lookAtParentEveryMs);
      undo.push(() => clearInterval(watch));
    });
  } finally {
    for (const one of undo) one();
  }
}
