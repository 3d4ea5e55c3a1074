import type { z } from "zod";

/** What a function of your program knows about a call, whether the session is here or on a service. */
export interface CallContext {
  /** aborted when the run ends or the call times out */
  readonly signal: AbortSignal;
  readonly sessionId: string;
  /** number of the run in its session */
  readonly run: number;
  /** number of the call, unique in its session */
  readonly call: number;
}

/** A function of your program that code in a session may call. */
export interface ExposedFunction<Input = never, Context extends CallContext = CallContext> {
  /** what it does; the function's docstring */
  readonly description: string;
  /** a JSON Schema or zod schema of an object: its properties are the parameters */
  readonly input: Readonly<Record<string, unknown>> | z.ZodType<Input>;
  /** default: any JSON value; a value that does not match is an error of the host, and does not reach the program */
  readonly output?: Readonly<Record<string, unknown>> | z.ZodType;
  /** Returns a JSON value. What it throws reaches the program as an exception with the error's name and message. */
  call(input: Input, context: Context): unknown;
  /** how long a call may take; default: 2 minutes */
  readonly timeoutMs?: number;
}
