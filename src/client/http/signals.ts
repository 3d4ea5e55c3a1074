/** A signal that is aborted with the first of several. `AbortSignal.any` is missing in older browsers. */
export class JoinedSignal implements Disposable {
  readonly #controller = new AbortController();
  readonly #stops: (() => void)[] = [];

  constructor(...signals: readonly (AbortSignal | undefined)[]) {
    for (const signal of signals) {
      if (!signal) continue;
      const stop = () => this.#controller.abort(signal.reason);
      if (signal.aborted) stop();
      signal.addEventListener("abort", stop, { once: true });
      this.#stops.push(() => signal.removeEventListener("abort", stop));
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  [Symbol.dispose](): void {
    for (const stop of this.#stops) stop();
  }
}
