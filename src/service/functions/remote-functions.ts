import { CodecellError } from "../../lib/errors.ts";
import { GuestFailure } from "../../lib/guest-failure.ts";
import type { HostCallContext, HostFunctions, JsonSchema } from "../../sessions/functions/host-function.ts";
import type { Session } from "../../sessions/session.ts";
import { assertCheckable } from "./remote-schema.ts";

/** of the arguments in one reply */
const replyCharacters = 1_000_000;

/** A function that a client of the service answers. */
export interface RemoteFunction {
  readonly name: string;
  readonly description: string;
  readonly input: JsonSchema;
  readonly output?: JsonSchema;
  readonly timeoutMs?: number;
  /** `submit`: a call that is answered with a value ends the run */
  readonly kind?: "call" | "submit";
}

/** A call that waits for its client. The arguments come from the cell. */
export interface RemoteCall {
  readonly call: number;
  readonly run: number;
  readonly name: string;
  readonly arguments: unknown;
}

export type RemoteAnswer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly type: string; readonly message: string };

/** Its arguments wait as JSON, because values take up to 24 times as much memory. */
interface Waiting extends Omit<RemoteCall, "arguments"> {
  readonly json: string;
  isDelivered: boolean;
  settle(answer: RemoteAnswer): void;
}

/** The functions of one session that a client of the service answers. Any client of the tenant may fetch and answer calls. */
export class RemoteFunctions {
  readonly #session: Session;
  readonly #waiting = new Map<number, Waiting>();
  readonly #wakers = new Set<() => void>();
  #exposed: AsyncDisposable | undefined;
  #latest = 0;

  constructor(session: Session) {
    this.#session = session;
  }

  /** Replaces the functions. */
  async declare(functions: readonly RemoteFunction[]): Promise<void> {
    assertCheckable(functions);
    const table: Record<string, HostFunctions[string]> = {};
    for (const { name, ...described } of functions) {
      if (Object.hasOwn(table, name)) throw new CodecellError("usage", `the function ${name} is declared twice`);
      table[name] = { ...described, call: (input: unknown, context) => this.#ask(name, input, context) };
    }
    const before = this.#exposed;
    this.#exposed = await this.#session.expose(table);
    await before?.[Symbol.asyncDispose]();
  }

  /**
   * Calls that no client has fetched yet. Waits for the first one. With `after`, the calls with a higher number, fetched or not:
   * the reply with them may have been lost. If their arguments are large, some are left for the next request.
   */
  async next({
    waitMs,
    after,
    signal,
  }: {
    waitMs: number;
    after?: number;
    signal: AbortSignal;
  }): Promise<RemoteCall[]> {
    const end = performance.now() + waitMs;
    for (;;) {
      const found = firstOf(
        [...this.#waiting.values()].filter(({ call, isDelivered }) =>
          after === undefined ? !isDelivered : call > after,
        ),
      );
      for (const one of found) one.isDelivered = true;
      const leftMs = end - performance.now();
      if (found.length > 0 || leftMs <= 0 || signal.aborted) {
        return found.map(({ call, run, name, json }) => ({ call, run, name, arguments: JSON.parse(json) }));
      }
      await this.#arrival(leftMs, signal);
    }
  }

  /** Answers a call, once. */
  answer(call: number, answer: RemoteAnswer): void {
    const waiting = this.#waiting.get(call);
    if (!waiting) {
      const hint = "it was answered, timed out, or its run has ended";
      throw new CodecellError("run_gone", `call ${call} does not wait for an answer`, { hint });
    }
    waiting.settle(answer);
  }

  #ask(name: string, input: unknown, { run, signal }: HostCallContext): Promise<unknown> {
    const call = ++this.#latest;
    const json = JSON.stringify(input);
    return new Promise((resolve, reject) => {
      const drop = () => {
        this.#waiting.delete(call);
        signal.removeEventListener("abort", drop); // the table answers for a call that was cancelled
      };
      signal.addEventListener("abort", drop);
      const settle = (answer: RemoteAnswer) => {
        drop();
        if (answer.ok) resolve(answer.value);
        else reject(new GuestFailure(answer.type, answer.message));
      };
      this.#waiting.set(call, { call, run, name, json, isDelivered: false, settle });
      for (const wake of this.#wakers) wake();
    });
  }

  #arrival(waitMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#wakers.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      const timer = setTimeout(wake, waitMs);
      this.#wakers.add(wake);
      signal.addEventListener("abort", wake);
    });
  }
}

/** At least one call, and as many as are small enough to be parsed at once. */
function firstOf(calls: readonly Waiting[]): readonly Waiting[] {
  let characters = 0;
  const tooMany = calls.findIndex(({ json }, index) => {
    characters += json.length;
    return characters > replyCharacters && index > 0;
  });
  return tooMany === -1 ? calls : calls.slice(0, tooMany);
}

const bySession = new WeakMap<Session, RemoteFunctions>();

/** The remote functions of a session. They end with it. */
export function remoteFunctionsOf(session: Session): RemoteFunctions {
  const known = bySession.get(session) ?? new RemoteFunctions(session);
  bySession.set(session, known);
  return known;
}
