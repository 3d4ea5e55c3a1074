import type { z } from "zod";
import type { Session } from "../session.ts";

/** A JSON Schema, as far as it describes values that JSON can hold. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** What a function of the host knows about the call. */
export interface HostCallContext {
  /** aborted when the run ends or the call times out */
  readonly signal: AbortSignal;
  readonly sessionId: string;
  /** number of the run in its session */
  readonly run: number;
  /** number of the call, unique in its session */
  readonly call: number;
  /**
   * A second session in the same cell, which starts with the variables of the calling program as they are now. Its variables
   * include the inputs of the call, by reference. Only for functions of kind `fork`.
   */
  fork(item?: number): Promise<Session>;
}

/** A function of the host that programs in a session may call. */
export interface HostFunction<Input = never> {
  /** what it does; the function's docstring */
  readonly description: string;
  /** a JSON Schema or zod schema of an object: its properties are the parameters */
  readonly input: Readonly<Record<string, unknown>> | z.ZodType<Input>;
  /** default: any JSON value; a value that does not match is an error of the host, and does not reach the program */
  readonly output?: Readonly<Record<string, unknown>> | z.ZodType;
  /** Returns a JSON value. What it throws reaches the program as an exception with the error's name and message. */
  call(input: Input, context: HostCallContext): unknown;
  /** how long a call may take; default: 2 minutes */
  readonly timeoutMs?: number;
  /** @internal `submit` ends the run after the call; `show_vars` is answered in the cell; `fork` may fork the caller */
  readonly kind?: "call" | "submit" | "show_vars" | "fork";
  /** @internal its answers are those of models: `{ text }` or `{ error }`, or a list of them */
  readonly answers?: "model";
}

/** Functions by the names that they have in the cell. */
// biome-ignore lint/suspicious/noExplicitAny: each function has its own input, which its schema checks
export type HostFunctions = Readonly<Record<string, HostFunction<any>>>;
