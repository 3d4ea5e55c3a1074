import { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import { findRun } from "../answers/run-outcome.ts";
import { streamRun } from "../answers/stream-run.ts";
import { offsetQuery, receiptQuery, runParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const watchRunRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}/runs/{run}/events",
  id: "watchRun",
  summary: "Stream the events of a run",
  description:
    "Server-sent events `run`, `stdout`, `stderr`, `display`, and at the end `result`. Their ids are offsets: a client that reconnects sends `Last-Event-ID` to resume.",
  tag: "runs",
  scope: "read",
  params: runParams,
  query: z.strictObject({ offset: offsetQuery, receipt: receiptQuery }),
  replies: { 200: { description: "the data of each event is a RunEvent", contentType: "text/event-stream" } },
  async handle({ params, query, tenant, service, memory, request }) {
    const { sandbox, runId } = await findRun(tenant, params);
    const fromOffset = query.offset ?? afterLast(request.headers["last-event-id"]);
    return streamRun(sandbox, runId, { fromOffset, withReceipt: query.receipt === "true", memory, service });
  },
});

function afterLast(header: string | string[] | undefined): number {
  if (header === undefined) return 0;
  if (typeof header === "string" && /^\d{1,15}$/.test(header)) return Number(header) + 1;
  throw new CodecellError("usage", "Last-Event-ID is not the id of an event");
}
