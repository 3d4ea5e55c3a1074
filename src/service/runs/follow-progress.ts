import { setImmediate } from "node:timers/promises";
import type { ServerContext } from "@modelcontextprotocol/server";
import { readableText } from "../output/readable-text.ts";
import type { RunRegistry } from "./run-registry.ts";

/** Clients give up on a call that is silent for long; each message starts their clock again. */
const everyMs = 3_000;
const maxLine = 200;

/** Tells the client that a run goes on, with the last line it printed, as long as this is not disposed. */
export function followProgress(runs: RunRegistry, runId: string, { mcpReq }: ServerContext): Disposable {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return { [Symbol.dispose]() {} };
  const started = performance.now();
  const stop = new AbortController();
  let tail = "";
  let last = 0;
  const read = async () => {
    for await (const { event } of runs.watch(runId, 0, { signal: stop.signal })) {
      if (event.type === "stdout" || event.type === "stderr") tail = (tail + event.text).slice(-2_000);
    }
  };
  let isReading = false;
  const timer = setInterval(async () => {
    if (!isReading) {
      isReading = true; // from its beginning on, and not before it takes long: most runs are over by now
      read().catch(() => {}); // whoever waits for the run hears why it failed
      await setImmediate();
    }
    if (stop.signal.aborted) return;
    const seconds = Math.round((performance.now() - started) / 1000);
    last = Math.max(seconds, last + 1);
    const message = lastLine(tail) ?? `running for ${seconds} s`;
    const params = { progressToken, progress: last, message };
    mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
  }, everyMs);
  return {
    [Symbol.dispose]() {
      clearInterval(timer);
      stop.abort();
    },
  };
}

function lastLine(text: string): string | undefined {
  return readableText(text)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .at(-1)
    ?.slice(0, maxLine);
}
