import { z } from "zod";
import { encodeSession, sessionSchema } from "../../../service/wire/session.ts";
import { defineRoute } from "../route.ts";

export const listSessionsRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions",
  id: "listSessions",
  summary: "List the sessions of this token",
  tag: "sessions",
  scope: "read",
  replies: { 200: { description: "live and saved sessions", schema: z.object({ sessions: z.array(sessionSchema) }) } },
  async handle({ tenant }) {
    return { json: { sessions: (await tenant.sessions.list()).map(encodeSession) } };
  },
});
