import type { CodecellError } from "../../lib/errors.ts";
import { aborted } from "../../lib/waiting/aborted.ts";
import { type Failure, failureOf } from "../clients/failure.ts";

/** Limits of retries. */
export interface RetryLimits {
  /** attempts after the first */
  readonly retries: number;
  /** for all waits together; a longer `retry-after` is not waited for */
  readonly totalMs: number;
  /** the longest first wait, doubled each time */
  readonly baseMs: number;
  /** the longest wait, unless the server asks for a longer one */
  readonly maxMs: number;
}

export const defaultRetryLimits: RetryLimits = { retries: 4, totalMs: 120_000, baseMs: 500, maxMs: 20_000 };

/** Time and chance, which tests replace. */
export interface RetryTimer {
  /** from 0 up to 1 */
  random(): number;
  /** Resolves after the delay, and rejects if the signal is aborted first. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const systemTimer: RetryTimer = {
  random: Math.random,
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(aborted(signal));
      const stop = () => {
        clearTimeout(timer);
        reject(aborted(signal));
      };
      const timer = setTimeout(() => {
        signal.removeEventListener("abort", stop);
        resolve();
      }, ms);
      signal.addEventListener("abort", stop, { once: true });
    }),
};

export interface RetryOptions {
  readonly signal: AbortSignal;
  readonly limits: RetryLimits;
  readonly timer: RetryTimer;
  /** Called before each wait. It may throw to give up: there may be no budget for another attempt. */
  onRetry(failure: Failure, error: CodecellError, attempt: number): void | Promise<void>;
}

/** Tries until it succeeds, fails for good, or the limits are reached. Rejects with the error of the last attempt. */
export async function withRetries<T>(attempt: (number: number) => Promise<T>, options: RetryOptions): Promise<T> {
  const { signal, limits, timer, onRetry } = options;
  let waitedMs = 0;
  for (let number = 1; ; number++) {
    try {
      return await attempt(number);
    } catch (error) {
      const failure = failureOf(error);
      if (!failure?.isRetryable || number > limits.retries || signal.aborted) throw error;
      const waitMs = delay(number, failure.retryAfterMs, limits, timer.random());
      if (waitedMs + waitMs > limits.totalMs) throw error;
      waitedMs += waitMs;
      await onRetry(failure, error as CodecellError, number);
      await timer.sleep(waitMs, signal);
    }
  }
}

/**
 * Full jitter: anything up to the doubled limit, so that many calls that failed together do not come back together. After the time
 * that the server asked for, only the first step of it.
 */
export function delay(attempt: number, retryAfterMs: number | undefined, limits: RetryLimits, random: number): number {
  if (retryAfterMs !== undefined) return retryAfterMs + random * limits.baseMs;
  return random * Math.min(limits.maxMs, limits.baseMs * 2 ** (attempt - 1));
}
