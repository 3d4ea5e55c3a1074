/** What the supervisor's thread and the interpreter's thread say to each other, beside the ring. */
export interface ThreadInput {
  readonly runtime: string;
  readonly ring: SharedArrayBuffer;
  readonly memoryPages: number;
  readonly diskBytes: number;
  readonly openFiles: number;
  readonly usesSnapshot: boolean;
}

export type ToInterpreter =
  | { readonly kind: "dispatch"; readonly id: number; readonly header: string; readonly body: Uint8Array | undefined }
  /** a request about the files in memory, which Python has no part in */
  | { readonly kind: "file"; readonly header: string; readonly body: Uint8Array | undefined }
  /** an interrupt for code that awaits: no bytecode runs then, so nothing reads the interrupt buffer */
  | { readonly kind: "cancel"; readonly id: number };

export type FromInterpreter =
  | { readonly kind: "loaded"; readonly python: string; readonly interrupt: SharedArrayBuffer }
  | { readonly kind: "failed"; readonly reason: string }
  /** the ring has something */
  | { readonly kind: "wake" }
  /** the interpreter is beyond use; the thread itself still answers */
  | { readonly kind: "died"; readonly reason: string };
