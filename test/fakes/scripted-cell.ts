import { CodecellError, messageOf } from "../../src/lib/errors.ts";
import type { CellCall, CellFunction, CellRun, CellVariable, ModelAnswer, OwnedCell } from "../../src/rlm/loop/cell.ts";

/** What a block of code does in a scripted cell. It may print, set variables and call functions, as Python would. */
export interface ScriptedProgram {
  readonly variables: Map<string, unknown>;
  readonly signal: AbortSignal;
  print(text: string): void;
  /** Calls a function of the host; failures of models come back as they do in a cell. */
  call(name: string, input?: Readonly<Record<string, unknown>>): Promise<unknown>;
  /** `rlm_query(signature, **inputs)`, or a list of inputs for the batch */
  fork(name: string, signature: string, inputs: object | readonly object[]): Promise<unknown>;
}

export type CellScript = Readonly<Record<string, (program: ScriptedProgram) => unknown>>;

/** The end of a run by SUBMIT. */
class Submitted extends Error {}

/** A failure of a model call, as code in a cell sees it. */
export class MarkedFailure {
  readonly text: string;
  readonly ok = false;

  constructor(text: string) {
    this.text = text;
  }
}

/** A cell in memory: each block of code is a key of the script. */
export class ScriptedCell implements OwnedCell {
  readonly variables = new Map<string, unknown>();
  readonly forks: ScriptedCell[] = [];
  /** code that ran, in order */
  readonly ran: string[] = [];
  isClosed = false;
  #functions: Readonly<Record<string, CellFunction>> = {};
  readonly #script: CellScript;

  readonly #canFork: boolean;

  constructor(script: CellScript, { canFork = true } = {}) {
    this.#script = script;
    this.#canFork = canFork;
  }

  get functions(): readonly string[] {
    return Object.keys(this.#functions);
  }

  async run(code: string, { signal }: { timeoutMs: number; signal: AbortSignal }): Promise<CellRun> {
    this.ran.push(code);
    const key = Object.keys(this.#script).find((one) => one === code.trim());
    let output = "";
    const ended = (status: CellRun["status"], state: CellRun["state"] = "kept"): CellRun => ({
      ...{ status, state, output, outputChars: output.length },
    });
    const program: ScriptedProgram = {
      ...{ variables: this.variables, signal },
      print: (text) => {
        output += `${text}\n`;
      },
      call: (name, input = {}) => this.#call(name, input, signal),
      fork: (name, signature, inputs) => this.#fork(name, signature, inputs, signal),
    };
    try {
      if (key === undefined) throw new SyntaxError(`the script has no ${JSON.stringify(code)}`);
      const result = await this.#script[key]?.(program);
      return typeof result === "object" && result !== null && "status" in result
        ? { ...ended("ok"), ...(result as Partial<CellRun>) }
        : ended("ok");
    } catch (error) {
      if (error instanceof Submitted) return ended("ok");
      if (error instanceof CodecellError && error.code === "cell_lost") throw error;
      if (signal.aborted) return ended("cancelled");
      output += `Traceback (most recent call last):\n${error instanceof Error ? error.name : "Error"}: ${messageOf(error)}\n`;
      return ended("error");
    }
  }

  async set(name: string, value: unknown): Promise<void> {
    this.variables.set(name, value);
  }

  async alias(from: string, to: string): Promise<void> {
    if (!this.variables.has(from)) throw new CodecellError("variable_missing", `the session has no variable ${from}`);
    this.variables.set(to, this.variables.get(from));
  }

  async describe(names: readonly string[]): Promise<readonly CellVariable[]> {
    return names.map((name) => {
      const value = this.variables.get(name);
      const text = typeof value === "string" ? value : JSON.stringify(value ?? null);
      const type = typeof value === "string" ? "str" : Array.isArray(value) ? "list" : "object";
      const isShort = text.length <= 1000;
      return {
        name,
        type,
        chars: text.length,
        head: isShort ? text : text.slice(0, 500),
        tail: isShort ? "" : text.slice(-500),
      };
    });
  }

  async readText(name: string, maxChars: number): Promise<string> {
    const value = this.variables.get(name);
    const text = typeof value === "string" ? value : JSON.stringify(value);
    if (text.length > maxChars) throw new CodecellError("too_large", `${name} is longer than ${maxChars} characters`);
    return text;
  }

  async expose(functions: Readonly<Record<string, CellFunction>>): Promise<AsyncDisposable> {
    this.#functions = functions;
    return {
      [Symbol.asyncDispose]: async () => {
        this.#functions = {};
      },
    };
  }

  async keepOnly(names: readonly string[]): Promise<void> {
    for (const name of [...this.variables.keys()]) if (!names.includes(name)) this.variables.delete(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isClosed = true;
  }

  #function(name: string): CellFunction {
    const found = this.#functions[name];
    if (!found) throw new ReferenceError(`name ${name} is not defined`);
    return found;
  }

  async #call(name: string, input: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<unknown> {
    const found = this.#function(name);
    const call: CellCall = { signal, fork: () => Promise.reject(new Error("no inputs")) };
    if (found.kind === "show_vars") return [...this.variables.keys()];
    if (found.kind === "fork") throw new TypeError(`${name} takes inputs`);
    const value = await found.call(input, call);
    if (found.kind === "submit") throw new Submitted();
    return found.kind === "model" ? withFailures(value as ModelAnswer | ModelAnswer[]) : value;
  }

  async #fork(
    name: string,
    signature: string,
    inputs: object | readonly object[],
    signal: AbortSignal,
  ): Promise<unknown> {
    const found = this.#function(name);
    if (found.kind !== "fork") throw new TypeError(`${name} takes no inputs`);
    const items = (Array.isArray(inputs) ? inputs : [inputs]) as Record<string, unknown>[];
    const fork = async (item: number) => {
      if (!this.#canFork) throw new CodecellError("not_supported", "this runner does not support forks");
      const copy = new ScriptedCell(this.#script);
      for (const [variable, value] of [...this.variables, ...Object.entries(items[item] ?? {})]) {
        copy.variables.set(variable, value);
      }
      this.forks.push(copy);
      return copy;
    };
    const value = await found.call({ signature, items: items.map((item) => Object.keys(item)) }, { signal, fork });
    return withFailures(value as ModelAnswer | ModelAnswer[]);
  }
}

function withFailures(value: ModelAnswer | readonly ModelAnswer[]): unknown {
  if (Array.isArray(value)) return value.map(withFailures);
  const one = value as ModelAnswer;
  return "error" in one ? new MarkedFailure(`[ERROR] ${one.error}`) : one.text;
}
