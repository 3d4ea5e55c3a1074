import { findRun, runOutcome, runReplies } from "../answers/run-outcome.ts";
import { runParams, waitQuery } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const getRunRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}/runs/{run}",
  id: "getRun",
  summary: "Get the result of a run, or its output so far",
  tag: "runs",
  scope: "read",
  params: runParams,
  query: waitQuery,
  replies: runReplies,
  async handle({ params, query, tenant, memory, signal }) {
    return runOutcome(await findRun(tenant, params), {
      memory,
      ...{ waitMs: query.wait * 1000, signal, withReceipt: query.receipt === "true" },
    });
  },
});
