import type { Readable } from "node:stream";

/** One of the two streams a command writes to. */
export interface Output {
  readonly isTTY: boolean;
  /** width in characters; Infinity if it is not a terminal */
  readonly columns: number;
  write(text: string): void;
  /** Writes raw bytes, and waits until the reader has room for more. */
  writeBytes(bytes: Uint8Array): Promise<void>;
}

/** `SIGPIPE`: the reader of the output is gone. `EIO`: output cannot be written for another reason, such as a full disk. */
export type TerminalSignal = "SIGINT" | "SIGTERM" | "SIGHUP" | "SIGPIPE" | "EIO";

/** The streams, environment and signals of a command. Tests pass their own. */
export interface Terminal {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** whether stdin is a pipe, a socket or a file; false for a terminal, `/dev/null` and a closed stdin */
  readonly hasPipedStdin: boolean;
  readonly stdout: Output;
  readonly stderr: Output;
  /** for line editing; undefined if stdin or stdout is not a terminal */
  readonly interactive?: { readonly input: NodeJS.ReadStream; readonly output: NodeJS.WriteStream };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  onSignal(handler: (signal: TerminalSignal) => void): Disposable;
  /** Exits the process at once, without cleanup. */
  exitNow(code: number): void;
}
