import { messageOf } from "../../lib/errors.ts";
import type { StartHostCheck } from "./host-check.ts";
import { LoopStalls } from "./loop-stalls.ts";

const allowedStallMs = 2_000;
const startMs = 20_000;

/** Sees the host's event loop stand still during an attack, and new sessions that cannot start after it. */
export const watchResponses: StartHostCheck = async ({ attack, cells }) => {
  const stalls = new LoopStalls();
  return async () => {
    stalls.stop();
    const stall = stalls.over(allowedStallMs);
    if (stall !== undefined) return stall;
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
