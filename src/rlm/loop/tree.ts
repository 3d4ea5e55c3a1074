import { CodecellError, type CodecellErrorCode, messageOf } from "../../lib/errors.ts";
import type { CallOptions } from "../../llm/calls/gateway.ts";
import type { LmRequest, LmResponse } from "../../llm/client.ts";
import { type Prices, priceOf } from "../../llm/money/prices.ts";
import { requestIdentity } from "../../llm/request-hash.ts";
import { promptCharacters } from "../../llm/usage.ts";
import { shownText } from "../prompt/shown-text.ts";
import { addCosts, type Cost, noCost } from "../trajectory/cost.ts";
import type { RlmEvent, RlmFact } from "../trajectory/event.ts";
import type { RlmModels } from "./models.ts";

/** How much of a text is recorded. The whole is never needed to follow a run, and prompts can be huge. */
const recordedChars = 20_000;

/** Errors of calls that were never sent. */
const notSent: ReadonlySet<CodecellErrorCode> = new Set([
  ...(["budget_exhausted", "model_unavailable", "too_large", "usage"] as const),
]);

/** Why everything stops. */
export type Stop = { readonly kind: "time" } | { readonly kind: "cancelled"; readonly reason: string };

/** An error that ends the whole tree. */
export class TreeStopped extends Error {
  override readonly name = "TreeStopped";
  readonly stop: Stop;

  constructor(stop: Stop) {
    super(stop.kind === "time" ? "the time limit of the run is reached" : stop.reason);
    this.stop = stop;
  }
}

export interface TreeOptions {
  readonly models: RlmModels;
  /** in addition to the built-in ones */
  readonly prices?: Prices;
  readonly rootModel: string;
  readonly subModel: string;
  readonly deadlineMs: number;
  /** aborted with a `TreeStopped` */
  readonly signal: AbortSignal;
  readonly now: () => number;
  readonly onEvent: (event: RlmEvent) => void;
}

type CallPlace = Omit<CallOptions, "parent" | "signal"> & { readonly isFinal: boolean } & {
  readonly run: string;
  readonly turn: number;
  readonly signal?: AbortSignal;
};

/** What all agents of a tree share: models, the clock, the record and the sum of all costs. */
export class Tree {
  readonly options: TreeOptions;
  readonly costs = new Map<string, Cost>();
  #calls = 0;

  constructor(options: TreeOptions) {
    this.options = options;
  }

  get signal(): AbortSignal {
    return this.options.signal;
  }

  get leftMs(): number {
    return Math.max(0, this.options.deadlineMs - this.options.now());
  }

  record(fact: RlmFact): void {
    this.options.onEvent({ ...fact, at: this.options.now() });
  }

  /** Calls a model and records the request, the answer and the cost. */
  async ask(request: LmRequest, place: CallPlace): Promise<LmResponse> {
    const { run, turn, purpose, budget, isFinal, signal = this.signal } = place;
    const call = `c${++this.#calls}`;
    this.record({
      ...{ type: "lm_request", run, turn, call, purpose, model: request.model, maxTokens: request.maxTokens },
      hash: requestIdentity(request).hash,
      promptChars: promptCharacters(request),
      prompt: recorded(request.messages.at(-1)?.text ?? ""),
    });
    const started = this.options.now();
    const ended = { type: "lm_response", run, turn, call } as const;
    let failedUsd = 0;
    try {
      const onCharged = (amount: { readonly usd: number }) => {
        failedUsd = amount.usd;
      };
      const options = { budget, isFinal, signal, purpose, parent: run, onCharged };
      const { text, stop, usage, source, charged } = await this.options.models.complete(request, options);
      const cached = source === "cache";
      const usd = cached || priceOf(request.model, this.options.prices) !== undefined ? charged.usd : null;
      const ms = this.options.now() - started;
      this.record({ ...ended, status: "ok", text: recorded(text), stop, usage, usd, cached, ms });
      const cost = cached
        ? { ...noCost, cached: 1 }
        : { ...noCost, ...usage, calls: 1, usd: usd ?? 0, unpriced: usd === null ? 1 : 0 };
      this.#add(request.model, cost);
      return { text, stop, usage };
    } catch (error) {
      const ms = this.options.now() - started;
      const status = error instanceof CodecellError && notSent.has(error.code) ? "refused" : "failed";
      this.record({ ...ended, status, text: recorded(messageOf(error)), usd: failedUsd || null, cached: false, ms });
      // A call that was cancelled or broke off may have been charged: its worst case is part of the spend.
      if (status === "failed") this.#add(request.model, { ...noCost, calls: 1, failed: 1, usd: failedUsd });
      throw error;
    }
  }

  #add(model: string, cost: Cost): void {
    this.costs.set(model, addCosts([this.costs.get(model) ?? noCost, cost]));
  }
}

export function recorded(text: string): string {
  return shownText(text, recordedChars).text;
}
