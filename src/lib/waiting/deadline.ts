/** A time limit combined with a caller's signal; `signal.reason` shows which came first. */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
}

export class DeadlinePassed extends Error {
  override readonly name = "DeadlinePassed";
}

/** On some versions of Node the timer of AbortSignal.any([AbortSignal.timeout()]) can be garbage-collected. */
export function deadline(timeoutMs: number, signal?: AbortSignal): Deadline {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new DeadlinePassed(`no answer within ${timeoutMs} ms`)), timeoutMs);
  const forward = () => controller.abort(signal?.reason);
  if (signal?.aborted) forward();
  else signal?.addEventListener("abort", forward, { once: true });
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      clearTimeout(timer);
      signal?.removeEventListener("abort", forward);
    },
  };
}
