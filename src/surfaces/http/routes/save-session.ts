import { encodeSnapshot, snapshotSchema } from "../../../service/wire/sessions/snapshot.ts";
import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const saveSessionRoute = defineRoute({
  method: "POST",
  path: "/v1/sessions/{session}/save",
  id: "saveSession",
  summary: "Write the variables to disk now",
  description:
    "Persistent sessions are saved automatically when they are idle. This call reports what was saved and what cannot be.",
  tag: "sessions",
  scope: "run",
  params: sessionParams,
  replies: { 200: { description: "the snapshot", schema: snapshotSchema } },
  async handle({ params, tenant }) {
    const session = await tenant.sessions.get(params.session);
    return { json: encodeSnapshot(params.session, await session.save()) };
  },
});
