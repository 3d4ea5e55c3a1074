import { CodecellError } from "../../lib/errors.ts";
import type { Amount } from "../budget/amounts.ts";
import type { Budget, Hold } from "../budget/budget.ts";
import type { LmClient, LmRequest, LmResponse } from "../client.ts";
import { failureOf } from "../clients/failure.ts";
import { charged, type Price } from "../money/prices.ts";
import { sum } from "../tape/read-tape.ts";
import { believed } from "./believed-usage.ts";
import { type RetryLimits, type RetryTimer, withRetries } from "./retry.ts";

export interface PaidCallOptions {
  readonly client: LmClient;
  readonly price: Price | undefined;
  readonly budget: Budget;
  readonly isFinal: boolean;
  readonly signal: AbortSignal;
  readonly limits: RetryLimits;
  readonly timer: RetryTimer;
  /** Called before an attempt that is paid for in addition, with everything that the call may have cost by then. */
  onRepeat?(mayCost: Amount): Promise<void>;
}

/** How a call that was sent ended, and what it cost. */
export interface PaidCall {
  readonly outcome: { readonly response: LmResponse } | { readonly error: unknown };
  readonly charged: Amount;
  readonly attempts: number;
}

const nothing: Amount = { calls: 0, tokens: 0, usd: 0 };

/**
 * Sends a request whose worst case is held, and settles it. An attempt that may have been charged (it timed out, broke off, or was
 * aborted) is settled at its worst case, because nobody knows better, and the next attempt needs a hold of its own. Never rejects.
 */
export async function payAndCall(request: LmRequest, firstHold: Hold, options: PaidCallOptions): Promise<PaidCall> {
  const { client, price, budget, isFinal, signal, limits, timer, onRepeat } = options;
  let [hold, total, attempts, isSent] = [firstHold, nothing, 0, false];
  const settle = (amount: Amount) => {
    // the call itself counts once, with the first hold
    const due = { ...amount, calls: hold.amount.calls };
    hold.settle(due);
    total = sum(total, due);
  };
  try {
    const response = await withRetries(
      async (number) => {
        attempts = number;
        isSent = true;
        return believed(await client.complete(request, { signal }), request, price);
      },
      {
        ...{ signal, limits, timer },
        async onRetry({ mayBeCharged }, error) {
          isSent = false;
          if (!mayBeCharged) return;
          const { tokens, usd } = hold.amount;
          settle(hold.amount);
          hold = await budget
            .reserveWhenFree({ calls: 0, tokens, usd }, { isFinal, signal })
            .catch((reason: unknown) => {
              hold = noHold;
              // an exhausted budget is not why the call failed
              throw signal.aborted ? reason : error;
            });
          await onRepeat?.(sum(total, hold.amount));
        },
      },
    );
    // an estimate does not say which input was written to a cache, the dearest kind: only the hold is an upper bound
    settle(response.isUsageEstimated ? hold.amount : charged(response.usage, price));
    return { outcome: { response }, charged: total, attempts };
  } catch (error) {
    settle(isSent && mayBeChargedFor(error) ? hold.amount : nothing);
    return { outcome: { error }, charged: total, attempts };
  }
}

const noHold: Hold = { amount: nothing, settle: () => {}, release: () => {} };

/** A client that fails in an unknown way, or was aborted, may have reached the model. */
function mayBeChargedFor(error: unknown): boolean {
  if (error instanceof CodecellError && error.code === "aborted") return true;
  return failureOf(error)?.mayBeCharged ?? true;
}
