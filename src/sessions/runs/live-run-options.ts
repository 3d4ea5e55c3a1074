import type { FunctionTable } from "../functions/function-table.ts";
import type { Neighbours, RunOptions } from "./run-options.ts";

/** Options of one run in a cell. */
export interface LiveRunOptions extends Pick<RunOptions, "language" | "signal" | "stdin" | "args" | "file"> {
  /** the files beside the program */
  readonly neighbours?: Neighbours;
  /** the one reader of the run's events keeps what it needs: events are dropped once read, and the result lacks them */
  readonly isStreamed?: boolean;
  /** at most the policy's `proc.timeout` */
  readonly timeoutMs?: number;
  /** how much output is kept, instead of the policy's `proc.output` */
  readonly outputBytes?: number;
  /** the functions of the host that the program may call */
  readonly functions?: FunctionTable | undefined;
}
