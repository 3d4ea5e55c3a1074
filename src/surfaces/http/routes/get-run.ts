import { z } from "zod";
import { runParams, waitQuery } from "../parameters.ts";
import { defineRoute } from "../route.ts";
import { runOf, runOutcome } from "../run-outcome.ts";
import { runSchema } from "../run-view.ts";

export const getRunRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}/runs/{run}",
  id: "getRun",
  summary: "How a run ended, or how far it is",
  tag: "runs",
  scope: "read",
  params: runParams,
  query: z.strictObject({ wait: waitQuery }),
  replies: {
    200: { description: "how it ended", schema: runSchema },
    202: { description: "it goes on", schema: runSchema },
  },
  async handle({ params, query, tenant, signal }) {
    await tenant.sessions.info(params.session);
    const sandbox = await tenant.sandbox();
    const { runId } = runOf(sandbox, params.session, params.run);
    return runOutcome(sandbox, runId, { waitMs: query.wait * 1000, signal, runner: tenant.sessions.runner });
  },
});
