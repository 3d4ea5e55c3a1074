import type { Session } from "../session.ts";
import type { CallContext, ExposedFunction } from "./exposed-function.ts";

/** A JSON Schema, as far as it describes values that JSON can hold. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** What a function of the host knows about the call. */
export interface HostCallContext extends CallContext {
  /**
   * A second session in the same cell, which starts with the variables of the calling program as they are now. Its variables
   * include the inputs of the call, by reference. Only for functions of kind `fork`.
   */
  fork(item?: number): Promise<Session>;
}

/** A function of the host that programs in a session may call. */
export interface HostFunction<Input = never> extends ExposedFunction<Input, HostCallContext> {
  /** @internal `submit` ends the run after the call; `show_vars` is answered in the cell; `fork` may fork the caller; `packages` writes files in the cell */
  readonly kind?: "call" | "submit" | "show_vars" | "fork" | "packages";
  /** @internal its answers are those of models: `{ text }` or `{ error }`, or a list of them */
  readonly answers?: "model";
}

/** Functions by the names that they have in the cell. */
// biome-ignore lint/suspicious/noExplicitAny: each function has its own input, which its schema checks
export type HostFunctions = Readonly<Record<string, HostFunction<any>>>;
