import { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import { encodeTrajectory, trajectorySchema } from "../../../service/wire/runs/trajectory.ts";
import { sessionId } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const getTrajectoryRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}/trajectories/{trajectory}",
  id: "getTrajectory",
  summary: "Show what a sub-agent did: every turn with code, output, calls and sub-agents",
  tag: "sessions",
  scope: "read",
  params: z.strictObject({ session: sessionId, trajectory: z.string().max(64) }),
  replies: { 200: { description: "the recorded trajectory", schema: trajectorySchema } },
  async handle({ params, tenant, service }) {
    const session = await tenant.sessions.get(params.session);
    const { trajectories } = service;
    if (!trajectories) throw new CodecellError("not_supported", "this service does not record trajectories");
    const tree = await trajectories.read(session, params.trajectory);
    return { json: encodeTrajectory({ id: params.trajectory, tree }) };
  },
});
