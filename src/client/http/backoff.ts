const firstMs = 100;
const longestMs = 5_000;

/** How long to wait before the next attempt: doubled each time, with jitter, and at least what the service asks for. */
export function delayBefore(attempt: number, retryAfterMs = 0, random: () => number = Math.random): number {
  const most = Math.min(longestMs, firstMs * 2 ** attempt);
  return Math.max(Math.min(retryAfterMs, longestMs), most / 2 + (random() * most) / 2);
}

/** Waits, or rejects with the signal's reason. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}
