/** A signal that is aborted with the first of several, with the same reason. */
export interface FirstSignal extends Disposable {
  readonly signal: AbortSignal;
}

/**
 * Like AbortSignal.any, but without its leak: that one keeps a reference on every source for each signal it made, so a source
 * that lives as long as a session grows with every call.
 */
export function firstSignal(...sources: readonly (AbortSignal | undefined)[]): FirstSignal {
  const controller = new AbortController();
  const undo: (() => void)[] = [];
  for (const source of sources) {
    if (!source) continue;
    const forward = () => controller.abort(source.reason);
    if (source.aborted) forward();
    else {
      source.addEventListener("abort", forward, { once: true });
      undo.push(() => source.removeEventListener("abort", forward));
    }
  }
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      for (const off of undo) off();
    },
  };
}
