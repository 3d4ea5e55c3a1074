import type { WireRunEvent } from "../../../../src/service/wire/runs/run-event.ts";
import { asApiError } from "../../api/api-error.ts";
import { call, type SessionRef, sessionPath } from "../../api/client.ts";
import { pathPart } from "../../api/path-part.ts";
import { readEvents } from "../../api/sse.ts";
import type { TimelineRun } from "./timeline-run.ts";

const firstRetryMs = 200;
const longestRetryMs = 5_000;

/**
 * Gives a run its events until it ends. After a lost connection it continues behind the last event that arrived, so that nothing is
 * lost and nothing is shown twice. `gone`: the service no longer knows the run.
 */
export async function followRun(
  session: SessionRef,
  run: TimelineRun,
  signal: AbortSignal,
): Promise<"ended" | "gone" | "left"> {
  let lastId: string | undefined;
  let retryMs = firstRetryMs;
  while (!signal.aborted) {
    try {
      const resume = lastId === undefined ? {} : { "last-event-id": lastId };
      const path = sessionPath(session, `/runs/${pathPart(run.runId ?? "")}/events`);
      const response = await call(path, { headers: { accept: "text/event-stream", ...resume }, signal });
      for await (const { id, data } of readEvents(response)) {
        const event = JSON.parse(data) as WireRunEvent;
        run.take(event);
        lastId = id ?? lastId;
        retryMs = firstRetryMs;
        if (event.type === "result" || event.type === "error") return "ended";
      }
    } catch (thrown) {
      if (signal.aborted) return "left";
      const { status } = asApiError(thrown);
      if (status >= 400 && status < 500 && status !== 429) return "gone";
    }
    await new Promise((resolve) => setTimeout(resolve, retryMs));
    retryMs = Math.min(longestRetryMs, retryMs * 2);
  }
  return "left";
}
