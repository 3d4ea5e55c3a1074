import { z } from "zod";
import { encodeSession, sessionSchema } from "../../../service/wire/sessions/session.ts";
import { sessionId, sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const forkSessionRoute = defineRoute({
  method: "POST",
  path: "/v1/sessions/{session}/fork",
  id: "forkSession",
  summary: "Start a second session with this one's variables",
  description: "No data is copied. Both share files, memory limit and CPUs; changes to variables are not shared.",
  tag: "sessions",
  scope: "run",
  params: sessionParams,
  body: z.strictObject({
    session_id: sessionId.optional().describe("id of the new session; default: a random id"),
  }),
  replies: { 201: { description: "the new session", schema: sessionSchema } },
  async handle({ params, body, tenant }) {
    const fork = await tenant.sessions.fork(params.session, body.session_id);
    const json = encodeSession({ ...fork.info, id: fork.id });
    return { status: 201, json, headers: { location: `/v1/sessions/${fork.id}` } };
  },
});
