import type { Readable } from "node:stream";

/** One of the two streams a command writes to. */
export interface Output {
  readonly isTTY: boolean;
  /** width in characters; Infinity when nobody looks at it */
  readonly columns: number;
  write(text: string): void;
  /** Writes bytes as they are, and waits until whoever reads them has room for more. */
  writeBytes(bytes: Uint8Array): Promise<void>;
}

/** `SIGPIPE`: whoever read our output went away. `EIO`: nobody did, and yet it cannot be written, as on a full disk. */
export type TerminalSignal = "SIGINT" | "SIGTERM" | "SIGHUP" | "SIGPIPE" | "EIO";

/** Where a command meets the person or the program that called it. Tests pass their own. */
export interface Terminal {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Output;
  readonly stderr: Output;
  /** for line editing; absent when either end is not a terminal */
  readonly interactive?: { readonly input: NodeJS.ReadStream; readonly output: NodeJS.WriteStream };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  onSignal(handler: (signal: TerminalSignal) => void): Disposable;
  /** Ends the process at once, for who asks a third time. */
  exitNow(code: number): void;
}
