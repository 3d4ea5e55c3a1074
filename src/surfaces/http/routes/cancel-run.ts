import { z } from "zod";
import { runParams, waitQuery } from "../parameters.ts";
import { defineRoute } from "../route.ts";
import { runOf, runOutcome } from "../run-outcome.ts";
import { runSchema } from "../run-view.ts";

export const cancelRunRoute = defineRoute({
  method: "POST",
  path: "/v1/sessions/{session}/runs/{run}/cancel",
  id: "cancelRun",
  summary: "Stop a run",
  description: "The code is interrupted first, so the variables stay; what ignores this is ended after 2 seconds.",
  tag: "runs",
  scope: "run",
  params: runParams,
  query: z.strictObject({ wait: waitQuery }),
  replies: {
    200: { description: "how it ended", schema: runSchema },
    202: { description: "it is on its way", schema: runSchema },
  },
  async handle({ params, query, tenant, signal }) {
    await tenant.sessions.info(params.session);
    const sandbox = await tenant.sandbox();
    const { runId } = runOf(sandbox, params.session, params.run);
    sandbox.runs.cancel(runId);
    return runOutcome(sandbox, runId, { waitMs: query.wait * 1000, signal, runner: tenant.sessions.runner });
  },
});
