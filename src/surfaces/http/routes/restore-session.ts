import { encodeRestore, restoreSchema } from "../../../service/wire/sessions/snapshot.ts";
import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const restoreSessionRoute = defineRoute({
  method: "POST",
  path: "/v1/sessions/{session}/restore",
  id: "restoreSession",
  summary: "Start a saved session again, and report what was restored",
  description: "Any other call restores it too and reports this in the notes of the next result.",
  tag: "sessions",
  scope: "run",
  params: sessionParams,
  replies: { 200: { description: "what was restored", schema: restoreSchema } },
  async handle({ params, tenant }) {
    const session = await tenant.sessions.get(params.session);
    await session.wake();
    return { json: encodeRestore(params.session, tenant.sessions.runner, session.restored) };
  },
});
