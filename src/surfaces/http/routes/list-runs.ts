import { z } from "zod";
import { encodeRunSummary, runSummarySchema } from "../../../service/wire/runs/run-summary.ts";
import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

const runListSchema = z.strictObject({ runs: z.array(runSummarySchema) });

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
    return { json: { runs: runs.list({ sessionId: params.session }).map(encodeRunSummary) } };
  },
});
