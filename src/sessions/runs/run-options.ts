import { CodecellError } from "../../lib/errors.ts";
import type { Language } from "../../policy/languages.ts";
import { duration } from "../../policy/units.ts";

/** Options of one run. */
export interface RunOptions {
  /** default: python */
  readonly language?: Language;
  /** `"30s"`, `"5m"`, or milliseconds; at most the policy's `proc.timeout`, which is the default */
  readonly timeout?: string | number;
  /** aborting interrupts the run, whose result then has the status `cancelled` */
  readonly signal?: AbortSignal;
  /**
   * standard input: whole, or in chunks that are read as the program reads them. A stream that the program did not read to its
   * end is destroyed with the end of the run. Default: none; `sys.stdin` is empty and `input()` fails.
   */
  readonly stdin?: string | Uint8Array | AsyncIterable<string | Uint8Array>;
  /** arguments of the program: `sys.argv[1:]`, or `$1`, `$2` … in bash */
  readonly args?: readonly string[];
  /** name of the program without a directory: `__file__` and `sys.argv[0]`, or `$0` in bash. No file is read. */
  readonly file?: string;
  /** @internal the files beside the program, as paths of the cell: for the owner's own command line */
  readonly neighbours?: Neighbours;
  /** what to do while another run is running; default: refuse with `session_busy` */
  readonly whenBusy?: "refuse" | "queue";
  /** @internal how much output is kept, instead of the policy's `proc.output`: for the owner's own command line */
  readonly outputBytes?: number;
  /** @internal the one reader of the run's events keeps what it needs: events are dropped once read, and the result lacks them */
  readonly isStreamed?: boolean;
}

/** @internal */
export const runOptionNames = {
  ...{ language: true, timeout: true, signal: true, stdin: true, args: true, file: true, neighbours: true },
  ...{ whenBusy: true, outputBytes: true, isStreamed: true },
} as const satisfies Record<keyof RunOptions, true>;

/** Files beside a program. */
export interface Neighbours {
  /** read-only; its entries appear in the working directory during the run. Absent: the files are in the workspace itself */
  readonly directory?: string;
  /** added to Python's import path during the run */
  readonly path: readonly string[];
}

/** A timeout as people write it, in milliseconds. */
export function milliseconds(timeout: string | number): number {
  const ms = typeof timeout === "string" ? duration().safeParse(timeout).data : timeout;
  if (ms !== undefined && Number.isFinite(ms) && ms > 0) return ms;
  throw new CodecellError("usage", `${JSON.stringify(timeout)} is not a valid timeout`, {
    hint: 'use a duration such as "30s" or "5m", or milliseconds as a number',
  });
}
