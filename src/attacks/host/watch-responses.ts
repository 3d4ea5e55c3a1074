import { messageOf } from "../../lib/errors.ts";
import type { StartHostCheck } from "./host-check.ts";

const allowedStallMs = 2_000;
const sampleMs = 20;
const startMs = 20_000;

/** Sees the host's event loop stand still during an attack, and new sessions that cannot start after it. */
export const watchResponses: StartHostCheck = async ({ attack, cells }) => {
  let longest = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last - sampleMs);
    last = now;
  }, sampleMs);
  return async () => {
    clearInterval(timer);
    if (longest > allowedStallMs) return `the host did not respond for ${Math.round(longest)} ms`;
    const started = performance.now();
    try {
      await using next = await cells.fresh(attack.scenario ?? "plain");
      const { status } = await next.run("1");
      if (status !== "ok") return `a new session did not work after it: ${status}`;
    } catch (error) {
      return `no new session could start after it: ${messageOf(error)}`;
    }
    const tookMs = Math.round(performance.now() - started);
    return tookMs > startMs ? `a new session took ${tookMs} ms after it` : undefined;
  };
};
