import type { Terminal, TerminalSignal } from "./terminal.ts";

const lookAtParentEveryMs = 500;

/** Resolves with a reason when the client of this server is gone: it closed the pipe, sent a signal, or exited. */
export async function clientGone(
  terminal: Terminal,
  over: "stdio" | "http",
  /** whether a signal has another meaning; it is then ignored here */
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
      // When a client is killed, one of its children may keep the pipe open.
      const parent = process.ppid;
      const watch = setInterval(() => {
        if (process.ppid !== parent) resolve("the client's process exited");
      }, lookAtParentEveryMs);
      undo.push(() => clearInterval(watch));
    });
  } finally {
    for (const one of undo) one();
  }
}
