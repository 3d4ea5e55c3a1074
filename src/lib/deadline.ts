/** A time limit joined with a caller's signal; `signal.reason` says which came first. */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
}

export class DeadlinePassed extends Error {
  override readonly name = "DeadlinePassed";
}

/** AbortSignal.any with AbortSignal.timeout may lose its timer to the collector on some Nodes, hence this. */
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
