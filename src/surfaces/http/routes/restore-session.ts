import { encodeRestore, restoreSchema } from "../../../service/wire/snapshot.ts";
import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const restoreSessionRoute = defineRoute({
  method: "POST",
  path: "/v1/sessions/{session}/restore",
  id: "restoreSession",
  summary: "Bring a saved session back into a cell, and tell what came back",
  description: "Any other call brings it back too, and the next result's notes tell the same. This asks for it alone.",
  tag: "sessions",
  scope: "run",
  params: sessionParams,
  replies: { 200: { description: "what came back", schema: restoreSchema } },
  async handle({ params, tenant }) {
    const session = await tenant.sessions.get(params.session);
    await session.wake();
    return { json: encodeRestore(params.session, tenant.sessions.runner, session.restored) };
  },
});
