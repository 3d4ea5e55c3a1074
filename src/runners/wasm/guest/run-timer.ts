/** The time limit of a run. It stands still while the run waits for the host, up to a limit of its own. */
export class RunTimer {
  readonly #fire: () => void;
  #timer: NodeJS.Timeout | undefined;
  #dueMs: number;
  #pauseLeftMs: number;
  #pausedAtMs: number | undefined;

  constructor(timeoutMs: number, maxPauseMs: number, fire: () => void) {
    this.#fire = fire;
    this.#pauseLeftMs = maxPauseMs;
    this.#dueMs = performance.now() + Math.max(1, timeoutMs);
    this.#arm();
  }

  pause(): void {
    if (this.#pausedAtMs !== undefined || this.#timer === undefined || this.#pauseLeftMs <= 0) return;
    this.#pausedAtMs = performance.now();
    this.#dueMs += this.#pauseLeftMs;
    this.#arm();
  }

  resume(): void {
    if (this.#pausedAtMs === undefined || this.#timer === undefined) return;
    const tookMs = Math.min(this.#pauseLeftMs, performance.now() - this.#pausedAtMs);
    this.#dueMs -= this.#pauseLeftMs - tookMs;
    this.#pauseLeftMs -= tookMs;
    this.#pausedAtMs = undefined;
    this.#arm();
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #arm(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#fire, Math.max(1, this.#dueMs - performance.now()));
  }
}
