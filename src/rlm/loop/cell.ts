/** How the code of one turn ended. */
export interface CellRun {
  readonly status:
    | "ok"
    | "error"
    | "timeout"
    | "interrupted"
    | "out_of_memory"
    | "output_limit"
    | "crashed"
    | "cancelled";
  /** `lost`: the variables are gone, and the run cannot go on */
  readonly state: "kept" | "recovered" | "lost";
  /** what it printed, with the traceback of an error at the end */
  readonly output: string;
  /** length of the whole output, if the cell kept only a part */
  readonly outputChars: number;
}

/** What is known of a variable without reading all of it. */
export interface CellVariable {
  readonly name: string;
  readonly type: string;
  /** length of the value as text */
  readonly chars: number;
  readonly head: string;
  /** empty if `head` is all */
  readonly tail: string;
}

/** A call of a function from code in the cell. */
export interface CellCall {
  /** aborted when the run ends */
  readonly signal: AbortSignal;
  /** A cell of its own that holds the inputs of item `item` of the call, by reference. The caller closes it. */
  fork(item: number): Promise<OwnedCell>;
}

interface Described {
  readonly description: string;
  readonly timeoutMs?: number;
}

/** Parameters by name: what Python's signature shows, and what JSON must match. */
export type CellParameters = Readonly<Record<string, { readonly schema: object; readonly isOptional?: boolean }>>;

/** Values for `llm_query` and its kin: a value, or the reason why there is none. */
export type ModelAnswer = { readonly text: unknown } | { readonly error: string };

/** A function that code in the cell can call. Everything that it gets is untrusted. */
export type CellFunction =
  | (Described & {
      readonly kind: "call";
      readonly parameters: CellParameters;
      call(input: Readonly<Record<string, unknown>>, call: CellCall): Promise<unknown>;
    })
  /** answers become text, and failures text that is marked */
  | (Described & {
      readonly kind: "model";
      readonly parameters: CellParameters;
      call(input: Readonly<Record<string, unknown>>, call: CellCall): Promise<ModelAnswer | readonly ModelAnswer[]>;
    })
  /** the inputs stay in the cell; the host gets their names, one list per item */
  | (Described & {
      readonly kind: "fork";
      readonly isBatch: boolean;
      call(
        input: { readonly signature: string; readonly items: readonly (readonly string[])[] },
        call: CellCall,
      ): Promise<ModelAnswer | readonly ModelAnswer[]>;
    })
  /** ends the run if the host accepts the values; otherwise it raises */
  | (Described & {
      readonly kind: "submit";
      readonly parameters: CellParameters;
      call(input: Readonly<Record<string, unknown>>, call: CellCall): Promise<void>;
    })
  /** answered inside the cell */
  | (Described & { readonly kind: "show_vars" });

/** Where an agent's code runs. The loop knows nothing else of a session. */
export interface RlmCell {
  run(code: string, options: { readonly timeoutMs: number; readonly signal: AbortSignal }): Promise<CellRun>;
  set(name: string, value: unknown): Promise<void>;
  /** Gives a variable a second name. Throws `variable_missing` if there is none. */
  alias(from: string, to: string): Promise<void>;
  describe(names: readonly string[]): Promise<readonly CellVariable[]>;
  /** A variable as text. Throws `too_large` if it is longer. */
  readText(name: string, maxChars: number): Promise<string>;
  /** Replaces nothing that Python has. Disposing removes the functions. */
  expose(functions: Readonly<Record<string, CellFunction>>): Promise<AsyncDisposable>;
}

/** A fork. Closing it ends its interpreter and leaves its parent untouched. */
export interface OwnedCell extends RlmCell, AsyncDisposable {
  /** Removes every variable but these: a sub-agent sees its declared inputs and nothing else of its parent. */
  keepOnly(names: readonly string[]): Promise<void>;
}
