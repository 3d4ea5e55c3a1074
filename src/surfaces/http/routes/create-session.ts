import { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import { encodeSession, sessionSchema } from "../../../service/wire/session.ts";
import { sessionId } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const createSessionRoute = defineRoute({
  method: "POST",
  path: "/v1/sessions",
  id: "createSession",
  summary: "Create a session, or get the one with this id",
  tag: "sessions",
  scope: "run",
  body: z.strictObject({ session_id: sessionId.optional().describe("default: a random id") }),
  replies: {
    200: { description: "the session exists already", schema: sessionSchema },
    201: { description: "the session was created", schema: sessionSchema },
  },
  async handle({ body, tenant }) {
    const isThere = body.session_id !== undefined && (await exists(tenant.sessions, body.session_id));
    const session = await tenant.sessions.session(body.session_id);
    const json = encodeSession({ ...session.info, id: session.id });
    return { status: isThere ? 200 : 201, json, headers: { location: `/v1/sessions/${session.id}` } };
  },
});

async function exists(sessions: { info(id: string): Promise<unknown> }, id: string): Promise<boolean> {
  try {
    await sessions.info(id);
    return true;
  } catch (error) {
    if (error instanceof CodecellError && error.code === "session_unknown") return false;
    throw error;
  }
}
