import { z } from "zod";
import { checkpointSchema, encodeCheckpoint } from "../../../service/wire/sessions/checkpoint.ts";
import { checkpointName, sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const createCheckpointRoute = defineRoute({
  method: "POST",
  path: "/v1/sessions/{session}/checkpoints",
  id: "createCheckpoint",
  summary: "Save a copy of the variables",
  tag: "checkpoints",
  scope: "run",
  params: sessionParams,
  body: z.strictObject({ name: checkpointName }),
  replies: { 201: { description: "the checkpoint", schema: checkpointSchema } },
  async handle({ params, body, tenant }) {
    const session = await tenant.sessions.get(params.session);
    return { status: 201, json: encodeCheckpoint(await session.checkpoint(body.name)) };
  },
});
