import { findRun, runOutcome, runReplies } from "../answers/run-outcome.ts";
import { runParams, waitQuery } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const cancelRunRoute = defineRoute({
  method: "POST",
  path: "/v1/sessions/{session}/runs/{run}/cancel",
  id: "cancelRun",
  summary: "Stop a run",
  description:
    "The code is interrupted first, so the variables stay. Code that ignores the interrupt is killed after 2 seconds.",
  tag: "runs",
  scope: "run",
  params: runParams,
  query: waitQuery,
  replies: runReplies,
  async handle({ params, query, tenant, memory, signal }) {
    const run = await findRun(tenant, params);
    run.sandbox.runs.cancel(run.runId);
    return runOutcome(run, { waitMs: query.wait * 1000, memory, signal, withReceipt: query.receipt === "true" });
  },
});
