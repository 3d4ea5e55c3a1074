import type { ServerResponse } from "node:http";
import type { MemoryLease } from "../../../service/body-memory.ts";
import type { Sandbox } from "../../../service/sandbox.ts";
import type { WireRunEvent } from "../../../service/wire/runs/run-event.ts";
import type { Reply } from "../route.ts";
import { endedView } from "../run-view.ts";
import type { HttpService } from "../service.ts";
import { errorReply } from "./error-status.ts";
import { runEventPieces, slices } from "./run-event-pieces.ts";
import { EventStream } from "./sse.ts";

export interface StreamRunOptions {
  /** the first event to send; with a number after the last one, only the result is sent */
  readonly fromOffset: number;
  readonly withReceipt?: boolean;
  /** what the result may use: a client that stops reading has it in memory meanwhile */
  readonly memory: MemoryLease | undefined;
  readonly service: Pick<HttpService, "limits" | "logFailure">;
}

/**
 * Streams the events of a run from an offset, past and future, then its result. Event ids are offsets, so a client that
 * lost its connection can resume.
 */
export function streamRun(
  sandbox: Sandbox,
  runId: string,
  { fromOffset, withReceipt = false, memory, service }: StreamRunOptions,
): Reply {
  const { sessionId } = sandbox.runs.status(runId);
  const answer = async (response: ServerResponse, signal: AbortSignal) => {
    using stream = new EventStream(response, service.limits);
    const send = (event: WireRunEvent, id?: number) => stream.send(event.type, event, id);
    await send({ type: "run", run_id: runId, session_id: sessionId });
    try {
      for await (const { offset, event } of sandbox.runs.watch(runId, fromOffset, { signal })) {
        if (event.type !== "end") await stream.sendPieces(event.type, runEventPieces(event, offset), offset);
      }
      if (signal.aborted) return;
      const result = await sandbox.runs.wait(runId, { signal });
      if (result.status !== "running") {
        const { nextOffset } = sandbox.runs.status(runId);
        const run = await endedView(result, runId, sessionId, sandbox, { withReceipt, memory, signal });
        const json = JSON.stringify({ type: "result", offset: nextOffset - 1, run } satisfies WireRunEvent);
        await stream.sendPieces("result", slices(json), nextOffset - 1);
      }
    } catch (error) {
      if (!signal.aborted) {
        service.logFailure(error, { isConnected: true });
        await send({ type: "error", ...errorReply(error).body });
      }
    }
    response.end();
  };
  return { send: answer };
}
