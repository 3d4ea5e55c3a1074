import { z } from "zod";
import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

const runListSchema = z.object({
  runs: z.array(
    z.object({
      run_id: z.string(),
      status: z.string().describe("failed: codecell itself could not finish it"),
      cancelled: z.boolean(),
      duration_ms: z.number(),
      next_offset: z.number(),
    }),
  ),
});

export const listRunsRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}/runs",
  id: "listRuns",
  summary: "List the recent runs of a session",
  description: "Runs that are running, and runs that ended in the last 15 minutes.",
  tag: "runs",
  scope: "read",
  params: sessionParams,
  replies: { 200: { description: "ended runs first", schema: runListSchema } },
  async handle({ params, tenant }) {
    await tenant.sessions.info(params.session);
    const { runs } = await tenant.sandbox();
    const list = runs.list({ sessionId: params.session });
    const view = list.map(({ runId, status, isCancelled, elapsedMs, nextOffset }) => ({
      ...{ run_id: runId, status, cancelled: isCancelled, duration_ms: Math.round(elapsedMs), next_offset: nextOffset },
    }));
    return { json: { runs: view } };
  },
});
