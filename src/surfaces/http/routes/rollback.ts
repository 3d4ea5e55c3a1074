import { z } from "zod";
import { checkpointSchema, encodeCheckpoint } from "../../../service/wire/sessions/checkpoint.ts";
import { checkpointName, sessionId } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const rollbackRoute = defineRoute({
  method: "POST",
  path: "/v1/sessions/{session}/checkpoints/{name}/rollback",
  id: "rollback",
  summary: "Restore the variables of a checkpoint",
  description: "The checkpoint stays. Files are not changed.",
  tag: "checkpoints",
  scope: "run",
  params: z.strictObject({ session: sessionId, name: checkpointName }),
  replies: { 200: { description: "the checkpoint", schema: checkpointSchema } },
  async handle({ params, tenant }) {
    const session = await tenant.sessions.get(params.session);
    return { json: encodeCheckpoint(await session.rollback(params.name)) };
  },
});
