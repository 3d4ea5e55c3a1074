import { z } from "zod";
import { encodeSession, sessionSchema } from "../../../service/wire/session.ts";
import { sessionId, sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const forkSessionRoute = defineRoute({
  method: "POST",
  path: "/v1/sessions/{session}/fork",
  id: "forkSession",
  summary: "Start a second session from this one's variables",
  description: "Nothing is copied. The two share files, memory limit and processors; their variables go separate ways.",
  tag: "sessions",
  scope: "run",
  params: sessionParams,
  body: z.strictObject({
    session_id: sessionId.optional().describe("of the new session; absent: one that nobody can guess"),
  }),
  replies: { 201: { description: "the new session", schema: sessionSchema } },
  async handle({ params, body, tenant }) {
    const fork = await tenant.sessions.fork(params.session, body.session_id);
    const json = encodeSession({ ...fork.info, id: fork.id });
    return { status: 201, json, headers: { location: `/v1/sessions/${fork.id}` } };
  },
});
