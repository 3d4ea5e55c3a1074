import { ApiError, asApiError } from "./api-error.ts";
import { call } from "./client.ts";
import { readEvents } from "./sse.ts";

/** One event of `GET /v1/events`. */
export interface ServiceEvent {
  readonly id: string;
  readonly time: string;
  readonly type: string;
  readonly session_id: string | null;
  readonly namespace?: string;
  readonly [field: string]: unknown;
}

export type Connection =
  | { readonly state: "connecting" }
  | { readonly state: "live" }
  | { readonly state: "waiting"; readonly error: ApiError; readonly retryMs: number };

export interface EventListener {
  /** every event, once, in order */
  event(event: ServiceEvent): void;
  /** events were lost, or this is the first connection: everything has to be loaded again */
  reload(): void;
  connection(connection: Connection): void;
}

const firstRetryMs = 250;
const longestRetryMs = 5_000;

/** Follows the events of the service until the signal is aborted. After a lost connection it resumes where it was. */
export async function followEvents(query: string, listener: EventListener, signal: AbortSignal): Promise<void> {
  let lastId: string | undefined;
  let retryMs = firstRetryMs;
  while (!signal.aborted) {
    let failure: ApiError;
    try {
      const resume = lastId === undefined ? {} : { "last-event-id": lastId };
      const response = await call(`/v1/events${query}`, {
        headers: { accept: "text/event-stream", ...resume },
        signal,
      });
      listener.connection({ state: "live" });
      if (lastId === undefined) listener.reload();
      retryMs = firstRetryMs;
      for await (const { id, event, data } of readEvents(response)) {
        if (id !== undefined) lastId = id;
        if (event === "gap") listener.reload();
        else listener.event(JSON.parse(data) as ServiceEvent);
      }
      failure = new ApiError("disconnected", "the connection to the service was lost");
    } catch (thrown) {
      if (signal.aborted) return;
      failure = asApiError(thrown);
      if (failure.status === 401 || failure.status === 403) {
        listener.connection({ state: "waiting", error: failure, retryMs: 0 });
        return;
      }
    }
    listener.connection({ state: "waiting", error: failure, retryMs });
    await pause(retryMs, signal);
    retryMs = Math.min(longestRetryMs, retryMs * 2);
    if (!signal.aborted) listener.connection({ state: "connecting" });
  }
}

/** Waits; ends early when the browser is online again. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    addEventListener("online", done);
    signal.addEventListener("abort", done);
  });
}
