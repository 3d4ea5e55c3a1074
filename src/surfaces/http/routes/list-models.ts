import { z } from "zod";
import {
  encodeModelCall,
  encodeModelSpend,
  modelCallSchema,
  modelSpendSchema,
} from "../../../service/wire/runs/model-call.ts";
import { encodeTrajectorySummary, trajectorySummarySchema } from "../../../service/wire/runs/trajectory.ts";
import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const listModelsRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}/models",
  id: "listModels",
  summary: "List the model calls of a session, what they cost and its sub-agents",
  description:
    "Calls and costs are those since the service started; the last 1,000 calls are listed. Trajectories record what sub-agents did, and are removed with the session.",
  tag: "sessions",
  scope: "read",
  params: sessionParams,
  replies: {
    200: {
      description: "oldest first",
      schema: z.strictObject({
        spend: modelSpendSchema,
        calls: z.array(modelCallSchema),
        trajectories: z.array(trajectorySummarySchema),
      }),
    },
  },
  async handle({ params, tenant, service }) {
    const session = await tenant.sessions.get(params.session);
    const { calls, spend } = service.modelCalls.of(session.key);
    // one request of a tenant at a time: each may read megabytes
    const list = async () => (await service.trajectories?.list(session, encodeTrajectorySummary)) ?? [];
    const trajectories = [...(await tenant.exports.run(list))];
    return {
      json: {
        spend: encodeModelSpend(spend, session.policy.llm),
        calls: calls.map(encodeModelCall),
        trajectories,
      },
    };
  },
});
