import { encodeSessionUsage, sessionUsageSchema } from "../../../service/wire/sessions/session-usage.ts";
import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

const maxRuns = 100;

export const getUsageRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}/usage",
  id: "getUsage",
  summary: "Show what a session uses: its limits, its cell over time, and its last runs",
  description: "Starts no cell. Samples are taken as for `GET /v1/usage`.",
  tag: "sessions",
  scope: "read",
  params: sessionParams,
  replies: { 200: { description: "the usage", schema: sessionUsageSchema } },
  async handle({ params, tenant, service, signal }) {
    const session = await tenant.sessions.get(params.session);
    // in turn, because the code of the runs is read too
    const history = tenant.exports.run(() => session.history(maxRuns), signal);
    const [runs] = await Promise.all([history, session.measure(), service.usage.look()]);
    const { policy, samples, lastUsage: usage } = session;
    return { json: encodeSessionUsage({ policy, samples, usage, runs }) };
  },
});
