import { setImmediate } from "node:timers/promises";
import { markImitations } from "../output/mark-imitations.ts";
import { readableText } from "../output/readable-text.ts";
import type { ToolContext } from "../tools/tool.ts";
import type { RunRegistry } from "./run-registry.ts";

/** Clients time out a call without progress; each message restarts their timeout. */
const everyMs = 3_000;
const maxLine = 200;

/** Reports the last line that a run printed, every few seconds until it is disposed. */
export function followProgress(runs: RunRegistry, runId: string, { progress }: ToolContext): Disposable {
  if (!progress) return { [Symbol.dispose]() {} };
  const started = performance.now();
  const stop = new AbortController();
  let tail = "";
  const read = async () => {
    for await (const { event } of runs.watch(runId, 0, { signal: stop.signal })) {
      if (event.type === "stdout" || event.type === "stderr") tail = (tail + event.text).slice(-2_000);
    }
  };
  let isReading = false;
  const timer = setInterval(async () => {
    if (!isReading) {
      isReading = true; // only now, because most runs have ended by then; it still reads from the first event
      read().catch(() => {}); // `wait` reports why the run failed
      await setImmediate();
    }
    if (stop.signal.aborted) return;
    const seconds = Math.round((performance.now() - started) / 1000);
    progress({ seconds, message: lastLine(tail) ?? `running for ${seconds} s` });
  }, everyMs);
  return {
    [Symbol.dispose]() {
      clearInterval(timer);
      stop.abort();
    },
  };
}

/** As a program printed it, and marked if it could be taken for a line of ours. */
export function lastLine(text: string): string | undefined {
  const line = readableText(text)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .at(-1)
    ?.slice(0, maxLine);
  return line === undefined ? undefined : markImitations(line);
}
