import { undoSchema } from "../../../service/wire/sessions/undo.ts";
import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const undoRoute = defineRoute({
  method: "POST",
  path: "/v1/sessions/{session}/undo",
  id: "undo",
  summary: "Restore the variables from before the last run",
  description:
    "As often as `session.undo` of the policy allows. Files are not changed. 409 `nothing_to_undo` if no run can be undone.",
  tag: "checkpoints",
  scope: "run",
  params: sessionParams,
  replies: { 200: { description: "which run was undone", schema: undoSchema } },
  async handle({ params, tenant }) {
    return { json: await (await tenant.sessions.get(params.session)).undo() };
  },
});
