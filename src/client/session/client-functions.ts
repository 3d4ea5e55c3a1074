import { CodecellError, messageOf } from "../../lib/errors.ts";
import { exceptionName } from "../../lib/guest-failure.ts";
import { resultJson } from "../../lib/json/result-json.ts";
import type { ExposedFunction } from "../../sessions/functions/exposed-function.ts";
import { pause } from "../http/backoff.ts";
import type { Transport } from "../http/transport.ts";
import { Fields } from "../wire/fields.ts";

// biome-ignore lint/suspicious/noExplicitAny: each function has its own input, which its schema checks
type Functions = Readonly<Record<string, ExposedFunction<any>>>;

const waitSeconds = 30;
const defaultTimeoutMs = 120_000;
const maxTimeoutMs = 600_000;
const mostFailures = 30;

interface Call {
  readonly call: number;
  readonly run: number;
  readonly name: string;
  readonly input: unknown;
}

/** Functions of this program that code in a session on a service calls: declares them, fetches the calls, answers each. */
export class ClientFunctions {
  readonly #transport: Transport;
  readonly #sessionId: string;
  readonly #path: string;
  /** one for each `expose`, oldest first */
  readonly #sets: Functions[] = [];
  /** calls that are being answered, by the number of their run */
  readonly #running = new Map<AbortController, number>();
  #listening: AbortController | undefined;
  /** the highest number of a call that was fetched */
  #latest = 0;
  /** whether a reply may have been lost; the service sends each call once, unless it is asked for old ones */
  #mayLack = false;
  /** changes one after the other, so that the last one counts */
  #declaring: Promise<unknown> = Promise.resolve();

  constructor(transport: Transport, sessionId: string, sessionPath: string) {
    this.#transport = transport;
    this.#sessionId = sessionId;
    this.#path = sessionPath;
  }

  async expose(functions: Functions): Promise<AsyncDisposable> {
    for (const name of Object.keys(functions)) {
      if (this.#sets.some((set) => Object.hasOwn(set, name)))
        throw new CodecellError("usage", `the function ${name} is exposed already`, { hint: "dispose it first" });
    }
    this.#sets.push(functions);
    const remove = async () => {
      const at = this.#sets.indexOf(functions);
      if (at === -1) return;
      this.#sets.splice(at, 1);
      if (this.#sets.length === 0) this.stop();
      await this.#declare();
    };
    try {
      await this.#declare();
    } catch (error) {
      this.#sets.splice(this.#sets.indexOf(functions), 1);
      throw error;
    }
    this.#listen();
    return { [Symbol.asyncDispose]: remove };
  }

  /** A run has ended: nobody waits for its calls any more. */
  runEnded(run: number): void {
    for (const [controller, of] of this.#running) if (of === run) controller.abort();
  }

  /** Fetches no more calls. */
  stop(): void {
    this.#listening?.abort();
    this.#listening = undefined;
  }

  #declare(): Promise<void> {
    const declared = this.#declaring.then(async () => {
      const functions = this.#sets.flatMap((set) => Object.entries(set).map(([name, one]) => described(name, one)));
      const request = { method: "PUT", path: `${this.#path}/functions`, json: { functions } } as const;
      await this.#transport.done({ ...request, isRepeatable: true });
    });
    this.#declaring = declared.catch(() => {});
    return declared;
  }

  #listen(): void {
    if (this.#listening) return;
    this.#listening = new AbortController();
    this.#fetchCalls(this.#listening.signal).catch(() => {});
  }

  async #fetchCalls(signal: AbortSignal): Promise<void> {
    const { idleMs, callsMs } = this.#transport.times;
    const limits = { headersMs: waitSeconds * 1000 + idleMs, isRepeatable: false };
    for (let failures = 0; !signal.aborted; ) {
      const isRecovery = this.#mayLack;
      this.#mayLack = true; // until the reply is here
      try {
        const query = { wait: waitSeconds, after: isRecovery ? this.#latest : undefined };
        const request = { method: "GET", path: `${this.#path}/calls`, query, signal, ...limits } as const;
        const reply = await this.#transport.json(request);
        for (const call of new Fields(reply, "the calls").list("calls", decodeCall)) {
          if (call.call <= this.#latest) continue;
          this.#latest = call.call;
          // Among the calls that were sent before may be some that another client is answering.
          if (!isRecovery || this.#functionOf(call.name)) void this.#answer(call);
        }
        failures = 0;
        this.#mayLack = false;
      } catch (error) {
        const isOver = error instanceof CodecellError && error.code !== "service_unavailable";
        if (signal.aborted || this.#transport.closed.aborted || isOver || ++failures >= mostFailures)
          return this.stop();
        await pause(callsMs, signal);
      }
    }
  }

  #functionOf(name: string): AnyFunction | undefined {
    return this.#sets.find((set) => Object.hasOwn(set, name))?.[name];
  }

  async #answer({ call, run, name, input }: Call): Promise<void> {
    const controller = new AbortController();
    this.#running.set(controller, run);
    const one = this.#functionOf(name);
    // Timers take at most 2^31 ms; a longer time would pass at once.
    const late = setTimeout(() => controller.abort(), Math.min(one?.timeoutMs ?? defaultTimeoutMs, maxTimeoutMs));
    try {
      const context = {
        ...{ signal: controller.signal, sessionId: this.#sessionId, run, call },
        fork: async () => {
          throw new CodecellError("not_supported", "a function of a client cannot fork the program that calls it");
        },
      };
      const json = await answerOf(one, name, input, context);
      if (controller.signal.aborted) return;
      await this.#transport.done({ method: "POST", path: `${this.#path}/calls/${call}`, json, isRepeatable: true });
    } catch {
      // the run has ended, or the service is gone: nobody waits for the answer
    } finally {
      clearTimeout(late);
      this.#running.delete(controller);
    }
  }
}

// biome-ignore lint/suspicious/noExplicitAny: each function has its own input, which its schema checks
type AnyFunction = ExposedFunction<any>;

async function answerOf(
  one: AnyFunction | undefined,
  name: string,
  input: unknown,
  context: Parameters<AnyFunction["call"]>[1],
): Promise<object> {
  try {
    if (!one) throw new CodecellError("usage", `there is no function ${name}`);
    const value = checked(one.output, await one.call(checked(one.input, input), context)) ?? null;
    resultJson(name, value); // what JSON cannot represent fails here, where the program learns it
    return { value };
  } catch (error) {
    return { error: { type: exceptionName(error).slice(0, 100), message: messageOf(error).slice(0, 4000) } };
  }
}

function described(name: string, { description, input, output, timeoutMs }: AnyFunction): object {
  return {
    ...{ name, description, input: jsonSchema(input, name) },
    ...(output === undefined ? {} : { output: jsonSchema(output, name) }),
    timeout: Math.min(timeoutMs ?? defaultTimeoutMs, maxTimeoutMs) / 1000,
  };
}

type Schema = NonNullable<AnyFunction["input"] | AnyFunction["output"]>;

/** A zod schema, as far as it is needed: the client does not contain zod. */
interface ZodLike {
  toJSONSchema(options?: object): object;
  parse(value: unknown): unknown;
}

function isZod(schema: Schema): boolean {
  return "_zod" in schema;
}

function jsonSchema(schema: Schema, name: string): object {
  if (!isZod(schema)) return schema;
  const zod = schema as unknown as ZodLike;
  if (typeof zod.toJSONSchema === "function") {
    const options = { io: "input", override: withoutPatterns };
    const { $schema: _, "~standard": __, ...plain } = zod.toJSONSchema(options) as Record<string, unknown>;
    return plain;
  }
  throw new CodecellError("usage", `the schema of ${name} has no toJSONSchema()`, {
    hint: "pass a JSON Schema, or use a newer zod",
  });
}

/** The service refuses patterns, which can take for ever to check. They are checked here, by the zod schema itself. */
function withoutPatterns({ jsonSchema }: { readonly jsonSchema: Record<string, unknown> }): void {
  for (const keyword of ["pattern", "propertyNames", "patternProperties"]) delete jsonSchema[keyword];
}

function checked(schema: Schema | undefined, value: unknown): unknown {
  return schema !== undefined && isZod(schema) ? (schema as unknown as ZodLike).parse(value) : value;
}

function decodeCall(value: unknown, what: string): Call {
  const call = new Fields(value, what);
  return { call: call.count("call"), run: call.count("run"), name: call.text("name"), input: call.any("arguments") };
}
