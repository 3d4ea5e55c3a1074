import { setMaxListeners } from "node:events";
import { CodecellError, messageOf } from "../../lib/errors.ts";
import { DeadlinePassed, deadline } from "../../lib/waiting/deadline.ts";
import { Semaphore } from "../../lib/waiting/semaphore.ts";
import type { Amount } from "../budget/amounts.ts";
import type { Budget, Hold } from "../budget/budget.ts";
import type { AnswerCache } from "../cache/answer-cache.ts";
import type { LmClient, LmRequest, LmResponse } from "../client.ts";
import { failureError } from "../clients/failure.ts";
import { errorHider } from "../clients/secret-hider.ts";
import { assertPriced, type Prices, priceOf, worstCase } from "../money/prices.ts";
import { type RequestIdentity, requestIdentity } from "../request-hash.ts";
import type { Tape } from "../tape/tape.ts";
import { noUsage } from "../usage.ts";
import { type BatchItem, completeBatch } from "./batch.ts";
import type { AnswerSource, CallPurpose, LmAnswer, LmCallEvent } from "./call-event.ts";
import { checkRequest } from "./check-request.ts";
import { payAndCall } from "./paid-call.ts";
import { defaultRetryLimits, type RetryLimits, type RetryTimer, systemTimer } from "./retry.ts";

export interface GatewayOptions {
  /** The client for a model, as in `ModelSetup`. A replay needs none. */
  clientFor?(model: string): LmClient;
  /** models that may be called; undefined: any */
  readonly models?: readonly string[];
  /** prices in addition to the built-in ones */
  readonly prices?: Prices;
  /** characters of one prompt, by default 400,000 */
  readonly maxPromptChars?: number;
  /** calls of this tree at the same time, by default 8 */
  readonly concurrency?: number;
  /** slots that several gateways share, such as those of a process */
  readonly sharedSlots?: Semaphore;
  /** for one call with all its retries, without the time that it waits for a slot; undefined: the client's own limit */
  readonly callTimeoutMs?: number;
  readonly retry?: Partial<RetryLimits>;
  readonly timer?: RetryTimer;
  readonly tape?: Tape;
  readonly cache?: AnswerCache;
  /** Called for each call that has ended, before its caller gets the answer. If it throws, so does the call. */
  onCall?(event: LmCallEvent): void | Promise<void>;
}

export interface CallOptions {
  readonly budget: Budget;
  readonly signal: AbortSignal;
  readonly purpose: CallPurpose;
  /** the run or sub-agent that makes the call */
  readonly parent: string;
  /** The call may use the budget's final reserve; by default if it extracts. Set it for the last turn. */
  readonly isFinal?: boolean;
  /** Called once with what the call cost, also if it failed. */
  onCharged?(charged: Amount): void;
}

const defaults = { maxPromptChars: 400_000, concurrency: 8 } as const;
const nothing: Amount = { calls: 0, tokens: 0, usd: 0 };
/** Node turns longer ones into none. */
const longestTimerMs = 2 ** 31 - 1;

/** A call, and how far it got. */
interface OpenCall {
  readonly request: LmRequest;
  readonly identity: RequestIdentity;
  readonly options: CallOptions;
  /** reserved by the batch that it belongs to */
  readonly prepaid: Hold | undefined;
  source: AnswerSource | undefined;
  attempts: number;
  held: Amount;
  charged: Amount;
  waitedMs: number;
  /** its number on the tape */
  taped: number | undefined;
}

/** The way of a tree of agents to its models: one gateway per tree, and every call passes it. */
export class LmGateway {
  readonly #options: GatewayOptions;
  readonly #slots: Semaphore;
  readonly #retry: RetryLimits;

  constructor(options: GatewayOptions) {
    const { concurrency = defaults.concurrency } = options;
    if (!(concurrency >= 1)) throw new CodecellError("usage", `concurrency is ${concurrency}: it must be at least 1`);
    this.#options = options;
    this.#slots = new Semaphore(concurrency);
    this.#retry = { ...defaultRetryLimits, ...options.retry };
  }

  /** One call. Rejects with the reason if it cannot be made, or failed after all retries. */
  async complete(request: LmRequest, options: CallOptions): Promise<LmAnswer> {
    const own = ownRequest(request);
    this.#check(own);
    return await this.#run(own, options);
  }

  /**
   * Several calls, in any order and at the same time; the results are in the order of the requests. All calls are reserved
   * together or none is, and then it throws. Tokens and money are held call by call. Equal requests are sent once, unless their
   * temperature asks for variety.
   */
  async completeAll(requests: readonly LmRequest[], options: CallOptions): Promise<BatchItem[]> {
    return await completeBatch(requests.map(ownRequest), {
      check: (request) => this.#check(request),
      reserve: (count) => {
        this.#chargeLost(options.budget);
        const isFinal = isFinalCall(options);
        return options.budget.reserveAll(
          Array.from({ length: count }, () => ({ ...nothing, calls: 1 })),
          { isFinal },
        );
      },
      run: (request, prepaid) => this.#run(request, options, prepaid),
    });
  }

  #check(request: LmRequest): void {
    const { models, maxPromptChars = defaults.maxPromptChars } = this.#options;
    checkRequest(request, { ...(models && { models }), maxPromptChars });
  }

  async #run(request: LmRequest, options: CallOptions, prepaid?: Hold): Promise<LmAnswer> {
    const { purpose, parent } = options;
    const { prices, tape, onCall } = this.#options;
    const start = performance.now();
    // Many calls wait on one signal. Each removes its listeners, so they are no leak, which Node would warn about.
    setMaxListeners(0, options.signal);
    const call: OpenCall = {
      ...{ request, options, prepaid, identity: requestIdentity(request) },
      ...{ source: undefined, attempts: 0, held: nothing, charged: nothing, waitedMs: 0, taped: undefined },
    };
    const outcome = await this.#outcome(call).then(
      (response) => ({ response }),
      (error: unknown) => ({ error: ownError(error) }),
    );
    // If it was not used, it is given back: nothing was sent.
    prepaid?.release();
    const { source, charged, attempts, held, waitedMs, taped } = call;
    const { hash, parts } = call.identity;
    options.onCharged?.(charged);
    const isRecorded = taped !== undefined || "response" in outcome || outcome.error.code === "budget_exhausted";
    const line = { hash, purpose, parent, request: parts, charged, isCached: source === "cache", outcome };
    const recording = source !== "tape" && isRecorded ? tape?.done(line, taped) : undefined;
    // the audit learns of the call even if it could not be recorded
    const [recorded] = await Promise.allSettled([recording]);
    const isPriced = priceOf(request.model, prices) !== undefined || source === "cache" || charged.usd > 0;
    await onCall?.({
      ...{ purpose, parent, hash, request, outcome, source, attempts, held, charged, waitedMs },
      usd: isPriced ? charged.usd : null,
      durationMs: performance.now() - start,
    });
    if (recorded.status === "rejected") throw recorded.reason;
    if ("error" in outcome) throw outcome.error;
    return { ...outcome.response, source: source ?? "model", charged };
  }

  async #outcome(call: OpenCall): Promise<LmResponse> {
    const { request, options, identity, prepaid } = call;
    const { tape, cache } = this.#options;
    const taped = tape?.take(identity);
    if (taped) {
      call.source = "tape";
      prepaid?.release();
      options.budget.root.charge(tape?.takeLost(taped.call) ?? nothing);
      options.budget.reserve(taped.charged, { isFinal: isFinalCall(options) }).settle(taped.charged);
      call.charged = taped.charged;
      if ("error" in taped.outcome) throw taped.outcome.error;
      return taped.outcome.response;
    }
    if (tape?.mode === "replay") throw tape.drift(identity, options);
    const client = this.#clientFor(request.model);
    const cached = await cache?.get(client.name, request);
    if (cached) {
      call.source = "cache";
      return { ...cached, usage: noUsage };
    }
    const response = await this.#ask(client, call);
    if (!response.isUsageEstimated) await cache?.put(client.name, request, response);
    return response;
  }

  /** Slot first, then budget: only calls that run hold something, so none waits for the budget of one that waits for a slot. */
  async #ask(client: LmClient, call: OpenCall): Promise<LmResponse> {
    const { request, options, identity, prepaid } = call;
    const { budget, signal } = options;
    const { prices = {}, sharedSlots, timer = systemTimer, tape, callTimeoutMs } = this.#options;
    const isFinal = isFinalCall(options);
    const price = priceOf(request.model, prices);
    this.#chargeLost(budget);
    assertPriced([request.model], budget.snapshot().left, prices);
    const start = performance.now();
    using _slot = await this.#slots.acquire(signal);
    using _shared = await sharedSlots?.acquire(signal);
    const worst = worstCase(request, price);
    const hold = await budget.reserveWhenFree({ ...worst, calls: prepaid ? 0 : 1 }, { isFinal, signal });
    call.waitedMs = performance.now() - start;
    call.held = worst;
    try {
      call.taped = await tape?.sent(identity.hash, worst);
    } catch (error) {
      hold.release();
      throw error;
    }
    call.source = "model";
    const limits = this.#retry;
    using limit = deadline(callTimeoutMs ?? longestTimerMs, signal);
    const paid = await payAndCall(request, hold, {
      ...{ client, price, budget, isFinal, signal: limit.signal, limits, timer },
      onRepeat: async (held) => void (await tape?.sent(identity.hash, { ...held, calls: 1 }, call.taped)),
    });
    prepaid?.settle({ ...nothing, calls: 1 });
    call.charged = { ...paid.charged, calls: 1 };
    call.attempts = paid.attempts;
    if ("response" in paid.outcome) return paid.outcome.response;
    if (!(limit.signal.reason instanceof DeadlinePassed)) throw paid.outcome.error;
    const failure = { reason: "timeout", isRetryable: false, mayBeCharged: true } as const;
    throw failureError(`the model did not answer within ${callTimeoutMs} ms`, failure);
  }

  #clientFor(model: string): LmClient {
    const client = this.#options.clientFor?.(model);
    if (client) return client;
    throw new CodecellError("model_unavailable", "no client for models is set up", {
      hint: "set ANTHROPIC_API_KEY or OPENAI_API_KEY in the environment of codecell",
      details: { reason: "key", model },
    });
  }

  /**
   * What an interrupted run spent on calls that are not replayed is part of the spend of the run that resumes it. It is charged
   * before the first call that is sent, and not earlier: prompts say what is left, and must equal the recorded ones until then.
   */
  #chargeLost(budget: Budget): void {
    budget.root.charge(this.#options.tape?.takeLost() ?? nothing);
  }
}

/** A copy. The attack: a request that grows between the check, the hold and the moment it is sent. */
function ownRequest({ messages, ...rest }: LmRequest): LmRequest {
  return { ...rest, messages: messages.map(({ role, text }) => ({ role, text })) };
}

function isFinalCall({ isFinal, purpose }: CallOptions): boolean {
  return isFinal ?? purpose === "extract";
}

/** A client that does not keep to its contract may throw anything, with anything attached to it. */
function ownError(error: unknown): CodecellError {
  if (error instanceof CodecellError) return error;
  const hide = errorHider((text) => text);
  return new CodecellError("internal", `a client for models failed: ${hide(messageOf(error)).slice(0, 300)}`);
}
