import { z } from "zod";
import { findRun, stdinOf } from "../answers/run-outcome.ts";
import { sendEarly } from "../answers/send-json.ts";
import { runParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const putStdinRoute = defineRoute({
  method: "PUT",
  path: "/v1/sessions/{session}/runs/{run}/stdin",
  id: "putStdin",
  summary: "Send standard input to a run",
  description:
    "For a run that was started with `stdin_stream`. The body is the program's whole standard input, of any size and type. It is read as fast as the program reads it. If the client disconnects before the end, the run is interrupted.",
  tag: "runs",
  scope: "run",
  params: runParams,
  takesBytes: "stream",
  replies: {
    200: {
      description: "the program has its input, or it ended without reading all of it",
      schema: z.strictObject({
        size: z.int().describe("bytes that the run took"),
        is_complete: z.boolean().describe("whether it took all of them; false: it ended, or closed its input, before"),
      }),
    },
  },
  async handle({ params, tenant, request, signal }) {
    const { sandbox, runId } = await findRun(tenant, params);
    const stdin = stdinOf(sandbox, runId);
    // An early end must not destroy the connection: the client could not read the response.
    const body = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
    const ended = sandbox.runs.wait(runId, { signal }).catch(() => {});
    await Promise.race([stdin.provide(body), ended]);
    const json = { size: stdin.size, is_complete: stdin.isComplete };
    return { send: (response) => sendEarly(request, response, { status: 200, json }) };
  },
});
