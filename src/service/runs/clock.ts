/** A clock that tests can replace. */
export interface Clock {
  /** monotonic time in milliseconds */
  now(): number;
  /** Calls back once after the delay. The returned function cancels the timer, which does not keep the process alive. */
  after(delayMs: number, callback: () => void): () => void;
}

/** The longest delay of a Node timer; a longer one would fire at once. */
const maxDelayMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, Math.min(delayMs, maxDelayMs)).unref();
    return () => clearTimeout(timer);
  },
};
