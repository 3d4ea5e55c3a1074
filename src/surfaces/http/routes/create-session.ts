import { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import { encodeSession, sessionSchema } from "../../../service/wire/sessions/session.ts";
import { sessionKey } from "../../../sessions/session-id.ts";
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
  async handle({ body, tenant, service, request }) {
    const { session_id: id } = body;
    const create = async () => {
      const isThere = id !== undefined && (await exists(tenant.sessions, id));
      const session = await tenant.sessions.session(id);
      const json = encodeSession({ ...session.info, id: session.id });
      return { status: isThere ? 200 : 201, json, headers: { location: `/v1/sessions/${session.id}` } };
    };
    const { forwarding } = service;
    if (!forwarding || id === undefined) return create();
    const key = sessionKey(tenant.namespace, id);
    return forwarding.unlessElsewhere(key, { request, body: Buffer.from(JSON.stringify(body)) }, create);
  },
});

async function exists(sessions: { info(id: string): Promise<unknown> }, id: string): Promise<boolean> {
  try {
    await sessions.info(id);
    return true;
  } catch (error) {
    const isLost = error instanceof CodecellError && error.code === "session_closed"; // with its gateway: a new one says so
    if (isLost || (error instanceof CodecellError && error.code === "session_unknown")) return false;
    throw error;
  }
}
