/** Time as something that is handed in, so that tests decide when it passes. */
export interface Clock {
  /** milliseconds that only grow */
  now(): number;
  /** calls back once after a while; the answer calls it off. It does not keep the process alive. */
  after(delayMs: number, callback: () => void): () => void;
}

/** The longest delay that a Node timer takes; a longer one would fire at once. */
const maxDelayMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, Math.min(delayMs, maxDelayMs)).unref();
    return () => clearTimeout(timer);
  },
};
