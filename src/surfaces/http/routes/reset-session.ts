import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const resetSessionRoute = defineRoute({
  method: "POST",
  path: "/v1/sessions/{session}/reset",
  id: "resetSession",
  summary: "Clear the variables",
  description: "Files and checkpoints stay; a rollback restores the variables of a checkpoint.",
  tag: "sessions",
  scope: "run",
  params: sessionParams,
  replies: { 204: { description: "they are cleared" } },
  async handle({ params, tenant }) {
    await (await tenant.sessions.get(params.session)).reset();
    return { status: 204 };
  },
});
