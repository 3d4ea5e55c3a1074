import { liveChangeSchema } from "../../../policy/change/live-change-schema.ts";
import { sessionParams } from "../parameters.ts";
import { changedPolicySchema, changedPolicyView } from "../policy-view.ts";
import { defineRoute } from "../route.ts";

export const changePolicyRoute = defineRoute({
  method: "PATCH",
  path: "/v1/sessions/{session}/policy",
  id: "changeSessionPolicy",
  summary: "Change the network rules of a live session",
  description:
    "When this call returns, the new rules are in force, and connections that they do not allow are closed. A session never gets more rights than the service's policy grants. Sessions in the same cell share the change.",
  tag: "sessions",
  scope: "run",
  params: sessionParams,
  body: liveChangeSchema,
  replies: { 200: { description: "the rules in force, and what changed", schema: changedPolicySchema } },
  async handle({ params, body, tenant }) {
    const session = await tenant.sessions.get(params.session);
    const changes = await session.updatePolicy(body, "caller");
    return { json: changedPolicyView(session.policy, changes) };
  },
});
