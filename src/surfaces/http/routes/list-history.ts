import { z } from "zod";
import { pageLimit, sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

const historySchema = z.object({
  history: z.array(
    z.object({
      run: z.number().describe("its number in the session"),
      time: z.string(),
      language: z.string(),
      code: z.string(),
      status: z.string(),
      duration_ms: z.number(),
    }),
  ),
});

export const listHistoryRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}/history",
  id: "listHistory",
  summary: "The code of recent runs, and how they ended",
  description: "With session.persist in the policy, it survives a restart of the service.",
  tag: "sessions",
  scope: "read",
  params: sessionParams,
  query: z.strictObject({ limit: pageLimit }),
  replies: { 200: { description: "newest last", schema: historySchema } },
  async handle({ params, query, tenant }) {
    const entries = await (await tenant.sessions.get(params.session)).history(query.limit);
    const history = entries.map(({ run, atMs, language, code, status, durationMs }) => ({
      ...{ run, time: new Date(atMs).toISOString(), language, code, status, duration_ms: Math.round(durationMs) },
    }));
    return { json: { history } };
  },
});
