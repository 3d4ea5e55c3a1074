import { encodeLineage, lineageSchema } from "../../../service/wire/sessions/lineage.ts";
import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const getLineageRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}/lineage",
  id: "getLineage",
  summary: "Show where the variables of a session come from, as a tree",
  description: "Its start, checkpoints, rollbacks, resets, forks, and what was restored. Starts no cell.",
  tag: "checkpoints",
  scope: "read",
  params: sessionParams,
  replies: { 200: { description: "the tree", schema: lineageSchema } },
  async handle({ params, tenant }) {
    return { json: encodeLineage(await (await tenant.sessions.get(params.session)).lineage()) };
  },
});
