import { setTimeout as sleep } from "node:timers/promises";

/**
 * Asks until there is an answer. For programs that announce nothing when they are ready.
 * @template T
 * @param {string} what
 * @param {() => Promise<T>} ask throws or returns undefined while it is too early
 * @param {{ timeoutMs?: number, everyMs?: number }} [options]
 * @returns {Promise<NonNullable<T>>}
 */
export async function waitUntil(what, ask, { timeoutMs = 60_000, everyMs = 200 } = {}) {
  const end = performance.now() + timeoutMs;
  for (;;) {
    let failure;
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== null && answer !== false) return answer;
    } catch (error) {
      failure = error;
    }
    if (performance.now() > end) {
      throw new Error(`${what}: not within ${timeoutMs / 1000} s`, failure ? { cause: failure } : {});
    }
    await sleep(everyMs);
  }
}
