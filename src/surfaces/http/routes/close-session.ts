import { z } from "zod";
import { flagQuery, sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const closeSessionRoute = defineRoute({
  method: "DELETE",
  path: "/v1/sessions/{session}",
  id: "closeSession",
  summary: "End a session",
  description: "What runs in it is stopped. Where the policy makes sessions persistent it is saved, unless `forget`.",
  tag: "sessions",
  scope: "run",
  params: sessionParams,
  query: z.strictObject({ forget: flagQuery.describe("true: remove its variables, history and files for good") }),
  replies: { 204: { description: "it has ended" } },
  async handle({ params, query, tenant }) {
    await tenant.sessions.closeSession(params.session, { forget: query.forget === "true" });
    return { status: 204 };
  },
});
