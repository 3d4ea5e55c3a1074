import type { AnswersEnd } from "./answers.ts";
import type { StdinEnd } from "./stdin.ts";

/** Messages between the supervisor's thread and the interpreter's thread, in addition to the ring. */
export interface ThreadInput {
  readonly runtime: string;
  readonly ring: SharedArrayBuffer;
  readonly stdin: StdinEnd;
  readonly answers: AnswersEnd;
  readonly tail: SharedArrayBuffer;
  readonly memoryPages: number;
  readonly diskBytes: number;
  readonly openFiles: number;
  readonly usesSnapshot: boolean;
  /** directory of packages for /deps */
  readonly packages?: string | undefined;
}

export type ToInterpreter =
  | {
      readonly kind: "dispatch";
      readonly id: number;
      readonly header: string;
      readonly body: Uint8Array | undefined;
      /** a run whose standard input comes through the port */
      readonly hasStdin: boolean;
    }
  /** a request about files in memory, which does not involve Python */
  | { readonly kind: "file"; readonly header: string; readonly body: Uint8Array | undefined }
  /** an interrupt for code that awaits; no bytecode is running then, so nothing reads the interrupt buffer */
  | { readonly kind: "cancel"; readonly id: number };

export type FromInterpreter =
  | { readonly kind: "loaded"; readonly python: string; readonly interrupt: SharedArrayBuffer }
  | { readonly kind: "failed"; readonly reason: string }
  /** the ring has data */
  | { readonly kind: "wake" }
  /** a run has read this much of its standard input */
  | { readonly kind: "read"; readonly run: number; readonly bytes: number }
  /** it has taken this much of the answers to its calls */
  | { readonly kind: "taken"; readonly bytes: number }
  /** the interpreter is unusable, but its thread still answers */
  | { readonly kind: "died"; readonly reason: string };
