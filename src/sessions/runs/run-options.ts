import { CodecellError } from "../../lib/errors.ts";
import type { Language } from "../../policy/languages.ts";
import { duration } from "../../policy/units.ts";

/** How one run goes. */
export interface RunOptions {
  /** default: python */
  readonly language?: Language;
  /** `"30s"`, `"5m"`, or milliseconds; at most the policy's `proc.timeout`, which is the default */
  readonly timeout?: string | number;
  /** aborting interrupts the run; the result still comes, with status `cancelled` */
  readonly signal?: AbortSignal;
  /** what to do while another run is running; default: refuse with `session_busy` */
  readonly whenBusy?: "refuse" | "queue";
  /** @internal how much output is kept, instead of the policy's `proc.output`: for the owner's own command line */
  readonly outputBytes?: number;
}

/** How one run in a cell goes. */
export interface LiveRunOptions extends Pick<RunOptions, "language" | "signal" | "outputBytes"> {
  /** at most the policy's `proc.timeout` */
  readonly timeoutMs?: number;
}

/** A timeout as people write it, in milliseconds. */
export function milliseconds(timeout: string | number): number {
  const ms = typeof timeout === "string" ? duration.safeParse(timeout).data : timeout;
  if (ms !== undefined && Number.isFinite(ms) && ms > 0) return ms;
  throw new CodecellError("usage", `${JSON.stringify(timeout)} is not a valid timeout`, {
    hint: 'use a duration such as "30s" or "5m", or milliseconds as a number',
  });
}
