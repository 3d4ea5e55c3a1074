import { z } from "zod";
import { checkpointSchema, encodeCheckpoint } from "../../../service/wire/sessions/checkpoint.ts";
import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const listCheckpointsRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}/checkpoints",
  id: "listCheckpoints",
  summary: "List the checkpoints of a session",
  tag: "checkpoints",
  scope: "read",
  params: sessionParams,
  replies: { 200: { description: "oldest first", schema: z.object({ checkpoints: z.array(checkpointSchema) }) } },
  async handle({ params, tenant }) {
    const { checkpoints } = await tenant.sessions.info(params.session);
    return { json: { checkpoints: checkpoints.map(encodeCheckpoint) } };
  },
});
