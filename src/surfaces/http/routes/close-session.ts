import { z } from "zod";
import { flagQuery, sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const closeSessionRoute = defineRoute({
  method: "DELETE",
  path: "/v1/sessions/{session}",
  id: "closeSession",
  summary: "Close a session",
  description:
    "Its run is stopped. If the policy makes sessions persistent, the session is saved, unless `forget` is true.",
  tag: "sessions",
  scope: "run",
  params: sessionParams,
  isGlance: true,
  query: z.strictObject({ forget: flagQuery.describe("true: delete its variables, history and files") }),
  replies: { 204: { description: "it is closed" } },
  async handle({ params, query, tenant }) {
    await tenant.sessions.closeSession(params.session, { forget: query.forget === "true" });
    return { status: 204 };
  },
});
