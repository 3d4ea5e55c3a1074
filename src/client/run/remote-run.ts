import type { CodeRun } from "../../sessions/code-session.ts";
import type { RunEvent } from "../../sessions/runs/run.ts";
import type { Transport } from "../http/transport.ts";
import type { RemoteEvent } from "../wire/decode-event.ts";
import { decodeRun, type RemoteRunResult } from "../wire/decode-run.ts";
import { withAllDisplays } from "./all-displays.ts";
import { followRun } from "./follow-run.ts";

export interface RemoteRunParts {
  readonly transport: Transport;
  /** the run's address below the service's */
  readonly pathOf: (runId: string) => string;
  /** the run's id as soon as it is known, and its result */
  readonly events: AsyncIterable<RemoteEvent>;
  /** aborting cancels the run */
  readonly signal?: AbortSignal | undefined;
  readonly onStarted?: (runId: string) => void;
  readonly onEnded?: (result: RemoteRunResult | undefined) => void;
}

/**
 * One execution on a service: a promise of its result and an async iterable of its events, for any number of readers. It settles
 * even if nobody reads it, and keeps running if this program ends. Each reader has its own connection and is as slow as it likes.
 */
export class RemoteRun implements Promise<RemoteRunResult>, CodeRun, AsyncDisposable {
  readonly [Symbol.toStringTag] = "RemoteRun";
  readonly #parts: RemoteRunParts;
  readonly #runId: Promise<string>;
  readonly #result: Promise<RemoteRunResult>;
  #tell: (runId: string) => void = () => {};
  #hasEnded = false;
  /** interrupts in the order of the calls */
  #interrupts: Promise<void> = Promise.resolve();

  /** @internal */
  constructor(parts: RemoteRunParts) {
    this.#parts = parts;
    const told = new Promise<string>((resolve) => {
      this.#tell = resolve;
    });
    this.#result = this.#settle();
    this.#runId = Promise.race([told, this.#result.then(({ runId }) => runId)]);
    this.#result.catch(() => {}); // a failure that nobody awaits is no unhandled rejection
    this.#runId.catch(() => {});
  }

  /** The id to find it again: `session.attachRun(id)`. Rejects if the service refuses the run. */
  runId(): Promise<string> {
    return this.#runId;
  }

  async #settle(): Promise<RemoteRunResult> {
    const { signal, transport, pathOf, onStarted, onEnded } = this.#parts;
    const cancel = () => void this.#send("cancel");
    let result: RemoteRunResult | undefined;
    let hasStarted = false;
    try {
      for await (const event of this.#parts.events) {
        if (event.kind === "run") {
          if (hasStarted) continue; // a new connection tells it again
          hasStarted = true;
          this.#tell(event.runId);
          onStarted?.(event.runId);
          if (signal?.aborted) cancel();
          else signal?.addEventListener("abort", cancel, { once: true });
        } else if (event.kind === "result") {
          const decoded = decodeRun(event.run);
          result = await withAllDisplays(decoded, transport, pathOf(decoded.result.runId));
          break;
        }
      }
      if (result === undefined) throw new Error("the events of a run end with its result");
      return result;
    } finally {
      this.#hasEnded = true;
      signal?.removeEventListener("abort", cancel);
      onEnded?.(result);
    }
  }

  // biome-ignore lint/suspicious/noThenProperty: a run is a promise of its result
  then<Kept = RemoteRunResult, Failed = never>(
    onKept?: ((result: RemoteRunResult) => Kept | PromiseLike<Kept>) | null,
    onFailed?: ((error: unknown) => Failed | PromiseLike<Failed>) | null,
  ): Promise<Kept | Failed> {
    return this.#result.then(onKept, onFailed);
  }

  catch<Failed = never>(
    onFailed?: ((error: unknown) => Failed | PromiseLike<Failed>) | null,
  ): Promise<RemoteRunResult | Failed> {
    return this.#result.catch(onFailed);
  }

  finally(onSettled?: (() => void) | null): Promise<RemoteRunResult> {
    return this.#result.finally(onSettled);
  }

  /** Stops the run and keeps the state. A second call kills code that ignores the first. */
  interrupt(): void {
    if (!this.#hasEnded) this.#interrupts = this.#interrupts.then(() => this.#send("interrupt"));
  }

  /** Interrupts the run if it is still running, and waits for its end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.interrupt();
    await this.#result.catch(() => {});
  }

  /** All events, from the first one. If codecell itself failed, the error is thrown at the end. */
  async *[Symbol.asyncIterator](): AsyncGenerator<RunEvent> {
    const { transport, pathOf } = this.#parts;
    const path = pathOf(await this.#runId);
    for await (const event of followRun(transport, { path, fromOffset: 0 })) {
      if (event.kind === "event") yield event.event;
    }
  }

  /** Never throws: the run may have ended, and the result says how. */
  async #send(what: "cancel" | "interrupt"): Promise<void> {
    const { transport, pathOf } = this.#parts;
    try {
      const path = `${pathOf(await this.#runId)}/${what}`;
      // Cancelling twice is safe. A second interrupt kills, so a lost one is not repeated.
      await transport.done({ method: "POST", path, isRepeatable: what === "cancel" });
    } catch {}
  }
}
