import { CodecellError } from "../../lib/errors.ts";
import type { RunOptions } from "../../sessions/runs/run-options.ts";
import { pause } from "../http/backoff.ts";
import type { Transport } from "../http/transport.ts";
import type { RemoteEvent } from "../wire/decode-event.ts";
import type { RemoteRunResult } from "../wire/decode-run.ts";
import { startAndFollow } from "./follow-run.ts";
import { RemoteRun } from "./remote-run.ts";
import { runRequest } from "./run-request.ts";

export interface StartParts {
  readonly transport: Transport;
  /** the session's address below the service's */
  readonly sessionPath: string;
  /** the start of the run before it in the queue */
  readonly after: Promise<unknown> | undefined;
  readonly onEnded: (result: RemoteRunResult | undefined) => void;
}

/** Starts a run on the service. Nothing is thrown here: a run that cannot start rejects. */
export function startRun(parts: StartParts, code: string, options: RunOptions): RemoteRun {
  const { transport, sessionPath } = parts;
  const pathOf = (runId: string) => `${sessionPath}/runs/${encodeURIComponent(runId)}`;
  const ended = new AbortController();
  return new RemoteRun({
    ...{ transport, pathOf, signal: options.signal },
    events: startEvents(parts, pathOf, code, options),
    onStarted: (runId) => {
      const { stdin } = runRequest(code, options);
      if (stdin === undefined) return;
      // What goes wrong here interrupts the run, and its result says so.
      const request = { method: "PUT", path: `${pathOf(runId)}/stdin`, bytes: stdin, signal: ended.signal } as const;
      transport.done(request).catch(() => {});
    },
    onEnded: (result) => {
      ended.abort();
      parts.onEnded(result);
    },
  });
}

async function* startEvents(
  { transport, sessionPath, after }: StartParts,
  pathOf: (runId: string) => string,
  code: string,
  options: RunOptions,
): AsyncGenerator<RemoteEvent> {
  const { body } = runRequest(code, options);
  await after;
  const headers = { accept: "text/event-stream", "idempotency-key": randomKey() };
  const path = `${sessionPath}/runs`;
  for (;;) {
    try {
      return yield* startAndFollow(transport, { method: "POST", path, json: body, headers, pathOf });
    } catch (error) {
      // The service lets a start wait for a minute. The queue is longer.
      const isWaiting = error instanceof CodecellError && error.code === "session_busy" && options.whenBusy === "queue";
      if (!isWaiting) throw error;
    }
    await pause(transport.times.queuedMs, transport.closed);
  }
}

/** 128 random bits. `randomUUID` is missing on pages without TLS. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
