import { findRun, runOutcome, runReplies } from "../answers/run-outcome.ts";
import { runParams, waitQuery } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const interruptRunRoute = defineRoute({
  method: "POST",
  path: "/v1/sessions/{session}/runs/{run}/interrupt",
  id: "interruptRun",
  summary: "Interrupt a run once, as Ctrl-C does",
  description:
    "The variables stay. A program can catch the interrupt; a second call kills code that ignores the first.",
  tag: "runs",
  scope: "run",
  params: runParams,
  query: waitQuery,
  replies: runReplies,
  async handle({ params, query, tenant, memory, signal }) {
    const run = await findRun(tenant, params);
    run.sandbox.runs.interrupt(run.runId);
    return runOutcome(run, { waitMs: query.wait * 1000, memory, signal, withReceipt: query.receipt === "true" });
  },
});
