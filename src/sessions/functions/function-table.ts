import type { ForkInCall } from "../../kernel/client.ts";
import type { GuestCall } from "../../kernel/guest-calls.ts";
import { messageOf } from "../../lib/errors.ts";
import { exceptionName, GuestFailure } from "../../lib/guest-failure.ts";
import { inexactInteger } from "../../lib/json/inexact-integer.ts";
import { type JsonLimits, JsonRefused, measureJson } from "../../lib/json/parse-json.ts";
import { resultJson } from "../../lib/json/result-json.ts";
import { DeadlinePassed, deadline } from "../../lib/waiting/deadline.ts";
import type { Session } from "../session.ts";
import { encodeSpecs } from "./function-spec.ts";
import type { HostFunctions } from "./host-function.ts";
import { ValueCheck } from "./value-check.ts";

const defaultTimeoutMs = 120_000;

/** A call as it is recorded. It never contains values. */
export interface CallRecord {
  readonly run: number;
  readonly name: string;
  readonly inputBytes: number;
  readonly outputBytes: number;
  readonly durationMs: number;
  readonly status: "ok" | "failed" | "refused";
  /** type of the error that the program saw */
  readonly error?: string;
}

/** What a table needs of its session. */
export interface CallingSession {
  id(): string;
  /** number of the session's active run, by the number that its cell gives it */
  runNumber(ofCell: number): number;
  fork(inCall: ForkInCall): Promise<Session>;
  record(call: CallRecord): void;
}

/** The functions that the programs of one session may call. A change makes a new table. */
export class FunctionTable {
  /** for the cell, as JSON */
  readonly specs: Buffer;
  readonly #functions: HostFunctions;
  readonly #checks: ReadonlyMap<string, { readonly input: ValueCheck; readonly output: ValueCheck | undefined }>;
  readonly #session: CallingSession;
  /** in the arguments of all calls that are not answered yet */
  #openValues = 0;

  constructor(functions: HostFunctions, session: CallingSession) {
    this.specs = encodeSpecs(functions);
    this.#functions = functions;
    this.#session = session;
    this.#checks = new Map(
      Object.entries(functions).map(([name, { input, output }]) => [
        name,
        { input: new ValueCheck(name, input), output: output && new ValueCheck(name, output) },
      ]),
    );
  }

  /** Answers a call. Untrusted: the name may be unknown and the arguments anything. */
  readonly answer = async (call: GuestCall): Promise<Uint8Array> => {
    const started = performance.now();
    const run = this.#session.runNumber(call.run);
    const facts = { run, name: call.name, inputBytes: call.arguments.byteLength };
    const record = (status: CallRecord["status"], outputBytes: number, error?: string) => {
      const durationMs = performance.now() - started;
      this.#session.record({ ...facts, outputBytes, durationMs, status, ...(error === undefined ? {} : { error }) });
    };
    try {
      const answer = await this.#call(call, run);
      record("ok", answer.byteLength);
      return answer;
    } catch (error) {
      const shown = guestFailure(error);
      record(shown instanceof Refusal ? "refused" : "failed", 0, shown.type);
      throw shown;
    }
  };

  async #call(call: GuestCall, run: number): Promise<Uint8Array> {
    const exposed = Object.hasOwn(this.#functions, call.name) ? this.#functions[call.name] : undefined;
    if (exposed === undefined) throw new Refusal("HostError", `the host has no function ${JSON.stringify(call.name)}`);
    const json = call.arguments.toString();
    const size = measured(json);
    if (this.#openValues + size > maxOpenValues) {
      throw new Refusal("HostError", "too many values are in calls that are not answered yet: wait for their answers");
    }
    this.#openValues += size;
    try {
      const value = await this.#begin(exposed, json, call, run);
      if (value === undefined) return nothing;
      const output = this.#checks.get(call.name)?.output?.check(value);
      if (output?.isRight === false)
        throw new GuestFailure("HostError", `${call.name} returned a value of a wrong type`);
      return Buffer.from(resultJson(call.name, value));
    } finally {
      this.#openValues -= size;
    }
  }

  /** Not async, because an async function keeps what it had before it waits: the arguments take up to 24 times their JSON. */
  #begin(exposed: HostFunctions[string], json: string, call: GuestCall, run: number): Promise<unknown> {
    const input = this.#checks.get(call.name)?.input.check(parsed(json));
    if (!input?.isRight) throw new Refusal("TypeError", `${call.name}: ${input?.why}`);
    const { timeoutMs = defaultTimeoutMs } = exposed;
    const limit = deadline(timeoutMs, call.signal);
    const context = {
      ...{ signal: limit.signal, sessionId: this.#session.id(), run, call: call.call },
      fork: (item = 0) => this.#session.fork({ call: call.call, item }),
    };
    try {
      return within(limit, Promise.resolve(exposed.call(input.value as never, context)), call.name, timeoutMs);
    } catch (error) {
      limit[Symbol.dispose]();
      throw error;
    }
  }
}

/** A function that ignores its signal must not keep the program waiting. */
async function within(
  limit: Disposable & { readonly signal: AbortSignal },
  answer: Promise<unknown>,
  name: string,
  timeoutMs: number,
): Promise<unknown> {
  using _ = limit;
  const ended = new Promise<never>((_resolve, reject) => {
    const end = () => reject(endedBy(limit.signal.reason, name, timeoutMs));
    limit.signal.addEventListener("abort", end, { once: true });
    if (limit.signal.aborted) end();
  });
  return await Promise.race([answer, ended]);
}

const nothing = Buffer.alloc(0);
/** Checked before anything is parsed: 16 MiB of nested arrays, or of numbers where a schema wants text, would stop the host for seconds. */
const argumentLimits: JsonLimits = { depth: 256, keys: 250_000, values: 250_000, containers: 250_000 };
/** The attack: 64 calls that nobody answers, with arguments that take 16 MB each once they are parsed. */
const maxOpenValues = 1_000_000;

/** A call that did not reach its function. */
class Refusal extends GuestFailure {}

function measured(json: string): number {
  try {
    return measureJson(json, argumentLimits);
  } catch (error) {
    if (error instanceof JsonRefused) throw new Refusal("ValueError", `the arguments are refused: ${error.message}`);
    throw error;
  }
}

function parsed(json: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new Refusal("TypeError", "the arguments are not JSON");
  }
  const rounded = inexactInteger(json);
  if (rounded === undefined) return value;
  throw new Refusal("TypeError", `the integer ${rounded.slice(0, 40)} is too large to pass exactly: pass it as text`);
}

function endedBy(reason: unknown, name: string, timeoutMs: number): GuestFailure {
  if (reason instanceof DeadlinePassed)
    return new GuestFailure("TimeoutError", `${name} took longer than ${timeoutMs} ms`);
  return new GuestFailure("HostError", `${name} was cancelled: ${messageOf(reason)}`);
}

/**
 * The failure as the program sees it. An ordinary error of the host program shows its name and message, because that is what
 * the caller of a function expects; an error of codecell shows its message too, and never its cause.
 */
function guestFailure(error: unknown): GuestFailure {
  if (error instanceof GuestFailure) return error;
  return new GuestFailure(exceptionName(error), messageOf(error), { cause: error });
}
