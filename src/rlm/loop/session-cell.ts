import * as z from "zod";
import { CodecellError } from "../../lib/errors.ts";
import type { HostCallContext, HostFunction, HostFunctions } from "../../sessions/functions/host-function.ts";
import type { RunResult } from "../../sessions/runs/run.ts";
import type { Session } from "../../sessions/session.ts";
import type { CellFunction, CellParameters, CellRun, CellVariable, OwnedCell, RlmCell } from "./cell.ts";

/** How much of a variable the model sees at either end. */
const previewChars = 500;
const identifier = /^[A-Za-z_]\w{0,199}$/;

/** A session as the loop sees it. The caller keeps the session and closes it. */
export function sessionCell(session: Session): RlmCell {
  return new SessionCell(session);
}

/** A copy of the session for one agent: its variables by reference, in the same cell. Disposing it ends the copy. */
export async function forkedCell(session: Session): Promise<OwnedCell> {
  return new SessionCell(await session.fork());
}

/** A session of its own with copies of some variables, for runners that cannot fork. The values pass through the host as JSON. */
export async function copiedCell(from: Session, copy: Session, names: readonly string[]): Promise<OwnedCell> {
  const cell = new SessionCell(copy);
  try {
    for (const name of names) await copy.setJson(checked(name), await from.getJson(checked(name)));
    return cell;
  } catch (error) {
    await cell[Symbol.asyncDispose]();
    throw error;
  }
}

class SessionCell implements OwnedCell {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  async run(code: string, { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal }): Promise<CellRun> {
    // A longer time gets a note in every result, which the model would read each time.
    const timeout = Math.min(timeoutMs, this.#session.policy.proc.timeoutMs);
    return cellRun(await this.#session.run(code, { timeout, signal }));
  }

  async set(name: string, value: unknown): Promise<void> {
    await this.#session.set(checked(name), value);
  }

  async alias(from: string, to: string): Promise<void> {
    const { status } = await this.#session.run(`${checked(to)} = ${checked(from)}`);
    if (status !== "ok") throw new CodecellError("variable_missing", `the session has no variable ${from}`);
  }

  async describe(names: readonly string[]): Promise<readonly CellVariable[]> {
    return await Promise.all(names.map((name) => this.#describe(name)));
  }

  async readText(name: string, maxChars: number): Promise<string> {
    const known = checked(name);
    const text = `${known} if isinstance(${known}, str) else __import__("json").dumps(${known}, ensure_ascii=False, default=str)`;
    const tooLong = (cause?: unknown) =>
      new CodecellError("too_large", `${name} is longer than ${maxChars} characters`, {
        hint: "pass a part of it",
        cause,
      });
    try {
      // JSON escapes take up to six bytes, and characters up to four.
      const value = await this.#session.get(text, { maxBytes: maxChars * 6 + 16 });
      if (typeof value === "string" && value.length <= maxChars) return value;
    } catch (error) {
      if (error instanceof CodecellError && error.code === "too_large") throw tooLong(error);
      throw error;
    }
    throw tooLong();
  }

  async expose(functions: Readonly<Record<string, CellFunction>>): Promise<AsyncDisposable> {
    const exposed = Object.entries(functions).map(([name, one]) => [name, hostFunction(one)] as const);
    return await this.#session.expose(Object.fromEntries(exposed) as HostFunctions);
  }

  async keepOnly(names: readonly string[]): Promise<void> {
    // Names are identifiers: nothing else becomes code.
    const kept = JSON.stringify(names.map(checked));
    const code = `for name in [name for name in globals() if name not in ${kept} and name[:2] != "__"]: del globals()[name]\n`;
    const { status } = await this.#session.run(`exec(${JSON.stringify(code)}, globals(), {})`);
    if (status !== "ok") throw new CodecellError("cell_lost", "the copy of the session could not be prepared");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session.close({ forget: true });
  }

  /** User code can answer anything, so the answer is checked. */
  async #describe(name: string): Promise<CellVariable> {
    const value = await this.#session.get(describing(checked(name)), { maxBytes: 64 * 1024 });
    const parsed = variableSchema.safeParse(value);
    return parsed.success ? { name, ...parsed.data } : { name, type: "unknown", chars: 0, head: "", tail: "" };
  }
}

const variableSchema = z.object({
  type: z.string().max(200),
  chars: z.number().int().nonnegative(),
  head: z.string(),
  tail: z.string(),
});

/** The attack: a name that is code. */
function checked(name: string): string {
  if (identifier.test(name)) return name;
  throw new CodecellError("usage", `${JSON.stringify(name)} is not the name of a variable`);
}

/** One expression. A long list is measured item by item, because its text as a whole could take as much memory again. */
function describing(name: string): string {
  const size = previewChars;
  const long = `(lambda v, n: {"type": type(v).__name__, "chars": sum(len(str(x)) for x in v[:n]) if len(v) <= n else sum(len(str(x)) for x in v[:n]) * len(v) // n, "head": str(v[:${size}])[:${size}], "tail": str(v[-${size}:])[-${size}:]})(v, 1000000)`;
  const short = `(lambda t: {"type": type(v).__name__, "chars": len(t), "head": t[:${2 * size}] if len(t) <= ${2 * size} else t[:${size}], "tail": "" if len(t) <= ${2 * size} else t[-${size}:]})(v if type(v) is str else str(v))`;
  return `(lambda v: ${long} if type(v) in (list, tuple) and len(v) > ${size} else ${short})(${name})`;
}

function cellRun(result: RunResult): CellRun {
  const { status, state, stdout, stderr, value, error, truncated, stdoutBytes, stderrBytes, notes } = result;
  const parts = [stdout, stderr, value ?? "", error?.traceback ?? error?.message ?? "", ...notes];
  const output = parts
    .filter((part) => part !== "")
    .map((part) => part.replace(/\n$/, ""))
    .join("\n");
  return {
    status,
    state,
    output,
    outputChars: truncated ? Math.max(output.length, stdoutBytes + stderrBytes) : output.length,
  };
}

function hostFunction(exposed: CellFunction): HostFunction<never> {
  const { description, timeoutMs } = exposed;
  const common = { description, ...(timeoutMs !== undefined && { timeoutMs: Math.max(1, timeoutMs) }) };
  if (exposed.kind === "show_vars") return { ...common, kind: "show_vars", input: schemaOf({}), call: () => undefined };
  if (exposed.kind === "fork") {
    const { isBatch } = exposed;
    const signature = { type: "string", description: 'such as "text -> summary: str"' };
    const properties = isBatch
      ? { signature, items: { type: "array", description: "a dict of inputs for each subtask" } }
      : { signature, inputs: { type: "object" } };
    const input = { type: "object", properties, required: isBatch ? ["signature", "items"] : ["signature"] };
    return {
      ...common,
      kind: "fork",
      answers: "model",
      input,
      call: (given, context) => exposed.call(forkInput.parse(given), callOf(context)),
    };
  }
  return {
    ...common,
    ...(exposed.kind === "submit" && { kind: "submit" }),
    ...(exposed.kind === "model" && { answers: "model" }),
    input: schemaOf(exposed.parameters),
    call: (given: Readonly<Record<string, unknown>>, context: HostCallContext) => exposed.call(given, callOf(context)),
  } as HostFunction<never>;
}

const forkInput = z.object({
  signature: z.string(),
  items: z.array(z.array(z.string().max(200)).max(256)).max(10_000),
});

function callOf({ signal, fork }: HostCallContext) {
  return { signal, fork: async (item: number) => new SessionCell(await fork(item)) };
}

function schemaOf(parameters: CellParameters) {
  const entries = Object.entries(parameters);
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(([name, { schema }]) => [name, schema])),
    required: entries.filter(([, { isOptional }]) => !isOptional).map(([name]) => name),
  };
}
