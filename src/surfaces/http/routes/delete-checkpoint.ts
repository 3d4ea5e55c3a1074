import { z } from "zod";
import { checkpointName, sessionId } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const deleteCheckpointRoute = defineRoute({
  method: "DELETE",
  path: "/v1/sessions/{session}/checkpoints/{name}",
  id: "deleteCheckpoint",
  summary: "Delete a checkpoint",
  tag: "checkpoints",
  scope: "run",
  params: z.strictObject({ session: sessionId, name: checkpointName }),
  replies: { 204: { description: "it is deleted" } },
  async handle({ params, tenant }) {
    await (await tenant.sessions.get(params.session)).forgetCheckpoint(params.name);
    return { status: 204 };
  },
});
