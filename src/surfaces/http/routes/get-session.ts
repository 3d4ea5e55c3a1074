import { encodeSession, sessionSchema } from "../../../service/wire/sessions/session.ts";
import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const getSessionRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}",
  id: "getSession",
  summary: "Show a session without starting it",
  tag: "sessions",
  scope: "read",
  params: sessionParams,
  isGlance: true,
  replies: { 200: { description: "the session", schema: sessionSchema } },
  async handle({ params, tenant }) {
    return { json: encodeSession(await tenant.sessions.info(params.session)) };
  },
});
