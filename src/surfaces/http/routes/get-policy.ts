import { sessionParams } from "../parameters.ts";
import { sessionPolicySchema, sessionPolicyView } from "../policy-view.ts";
import { defineRoute } from "../route.ts";

export const getPolicyRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}/policy",
  id: "getSessionPolicy",
  summary: "Read the rules of a session that can be changed",
  tag: "sessions",
  scope: "read",
  params: sessionParams,
  replies: { 200: { description: "the rules in force", schema: sessionPolicySchema } },
  async handle({ params, tenant }) {
    const session = await tenant.sessions.get(params.session);
    return { json: sessionPolicyView(session.policy) };
  },
});
