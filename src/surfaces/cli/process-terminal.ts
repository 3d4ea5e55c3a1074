import type { Output, Terminal, TerminalSignal } from "./terminal.ts";

/** The terminal of this process. */
export function processTerminal(): Terminal {
  return {
    stdin: process.stdin,
    stdout: output(process.stdout),
    stderr: output(process.stderr),
    ...(process.stdin.isTTY && process.stdout.isTTY
      ? { interactive: { input: process.stdin, output: process.stdout } }
      : {}),
    env: process.env,
    cwd: process.cwd(),
    onSignal,
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

function onSignal(handler: (signal: TerminalSignal) => void): Disposable {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  const undo = signals.map((signal) => {
    const listener = () => handler(signal);
    process.on(signal, listener);
    return () => process.off(signal, listener);
  });
  const broken = (error: NodeJS.ErrnoException) => {
    // `codecell run … | head`: the reader left, so the program has no audience
    if (error.code === "EPIPE") handler("SIGPIPE");
    else throw error;
  };
  for (const stream of [process.stdout, process.stderr]) stream.on("error", broken);
  return {
    [Symbol.dispose]() {
      // The listener for broken pipes stays: what is still buffered may fail after the command is done.
      for (const one of undo) one();
    },
  };
}
