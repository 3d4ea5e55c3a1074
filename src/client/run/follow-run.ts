import { CodecellError } from "../../lib/errors.ts";
import { delayBefore, pause } from "../http/backoff.ts";
import { serverEvents } from "../http/server-events.ts";
import { JoinedSignal } from "../http/signals.ts";
import { isTransient, type OpenResponse, type Request, type Transport } from "../http/transport.ts";
import { decodeEvent, type RemoteEvent } from "../wire/decode-event.ts";

/** After the last event of any run: a stream from here has only the result. */
export const afterLastOffset = Number.MAX_SAFE_INTEGER;

/** A connection that lasts this long is not a failed attempt, even if the program printed nothing. */
const steadyMs = 1_000;
const mostAttempts = 8;

export interface FollowOptions {
  /** the run's address below the service's */
  readonly path: string;
  readonly fromOffset: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The events of a run from an offset to its result. If the connection is lost, it continues where it was: no event is lost or
 * comes twice.
 */
export async function* followRun(
  transport: Transport,
  { path, fromOffset, signal }: FollowOptions,
): AsyncGenerator<Exclude<RemoteEvent, { kind: "error" }>> {
  let next = fromOffset;
  for (let attempt = 0; ; ) {
    const openedAt = performance.now();
    let hasProgress = false;
    let failure: unknown;
    try {
      const query = { offset: next, receipt: true };
      const opened = await transport.open({ method: "GET", path: `${path}/events`, query, signal, ...once(transport) });
      for await (const event of eventsOf(opened, transport)) {
        if (event.kind === "event") {
          if (event.offset < next) continue;
          if (event.offset > next) throw missingEvents(next, event.offset);
          next++;
          hasProgress = true;
        }
        yield event;
        if (event.kind === "result") return;
      }
    } catch (error) {
      failure = error;
    }
    checkStopped(transport, signal);
    if (failure instanceof CodecellError && !isTransient(failure)) throw failure;
    attempt = hasProgress || performance.now() - openedAt > steadyMs ? 0 : attempt + 1;
    if (attempt >= mostAttempts) throw failure ?? cutOff(attempt);
    await pauseBefore(attempt, transport, signal);
  }
}

/** Sends the request that starts a run, again with the same key if the reply is lost, and follows the run to its result. */
export async function* startAndFollow(
  transport: Transport,
  request: Omit<Request, "signal"> & { readonly pathOf: (runId: string) => string },
): AsyncGenerator<Exclude<RemoteEvent, { kind: "error" }>> {
  const runId = yield* started(transport, request);
  if (runId !== undefined) yield* followRun(transport, { path: request.pathOf(runId), fromOffset: afterLastOffset });
}

/** Returns the id of a run whose connection was lost after its start; undefined: it has ended. */
async function* started(
  transport: Transport,
  request: Omit<Request, "signal">,
): AsyncGenerator<Exclude<RemoteEvent, { kind: "error" }>, string | undefined> {
  let runId: string | undefined;
  for (let attempt = 0; ; attempt++) {
    let failure: unknown;
    try {
      const query = { offset: afterLastOffset, receipt: true };
      const opened = await transport.open({ ...request, query, ...once(transport) });
      for await (const event of eventsOf(opened, transport)) {
        if (event.kind === "run") runId = event.runId;
        yield event;
        if (event.kind === "result") return undefined;
      }
    } catch (error) {
      failure = error;
    }
    checkStopped(transport, undefined);
    if (failure instanceof CodecellError && !isTransient(failure)) throw failure;
    if (runId !== undefined) return runId;
    if (attempt >= transport.retries) throw failure ?? cutOff(attempt);
    await pauseBefore(attempt, transport, undefined);
  }
}

/** Repeated here, where it is known what has arrived. */
function once({ times: { headersMs } }: Transport) {
  return { headersMs, isRepeatable: false };
}

async function* eventsOf(
  opened: OpenResponse,
  { maxResponseBytes, times: { idleMs } }: Transport,
): AsyncGenerator<Exclude<RemoteEvent, { kind: "error" }>> {
  for await (const sent of serverEvents(opened, { maxBytes: maxResponseBytes, idleMs })) {
    const event = decodeEvent(sent);
    if (event?.kind === "error") throw finalError(event.error);
    if (event) yield event;
  }
}

/** The service said why the run failed, so that no attempt to reconnect follows. */
function finalError({ code, message, hint, details }: CodecellError): CodecellError {
  const more = hint === undefined ? {} : { hint };
  return new CodecellError(code, message, { ...more, details: { ...details, status: 200 } });
}

function checkStopped({ closed }: Transport, signal: AbortSignal | undefined): void {
  if (closed.aborted) throw closed.reason;
  if (signal?.aborted) throw new CodecellError("aborted", "the events are not read any more", { cause: signal.reason });
}

async function pauseBefore(attempt: number, transport: Transport, signal: AbortSignal | undefined): Promise<void> {
  using waiting = new JoinedSignal(signal, transport.closed);
  await pause(delayBefore(attempt), waiting.signal).catch(() => checkStopped(transport, signal));
}

function missingEvents(expected: number, got: number): CodecellError {
  return new CodecellError("service_unavailable", `the service left out events: ${got} came after ${expected - 1}`, {
    details: { status: 200 },
  });
}

function cutOff(attempts: number): CodecellError {
  return new CodecellError("service_unavailable", `the connection was cut ${attempts} times in a row`, {
    hint: "check the network and the proxy between; the run keeps running: session.runs() lists it",
  });
}
