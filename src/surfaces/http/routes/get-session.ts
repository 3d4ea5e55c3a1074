import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";
import { sessionSchema, sessionView } from "../session-view.ts";

export const getSessionRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}",
  id: "getSession",
  summary: "Show a session without starting it",
  tag: "sessions",
  scope: "read",
  params: sessionParams,
  replies: { 200: { description: "the session", schema: sessionSchema } },
  async handle({ params, tenant }) {
    return { json: sessionView(await tenant.sessions.info(params.session)) };
  },
});
