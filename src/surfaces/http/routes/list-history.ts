import { z } from "zod";
import { encodeHistoryEntry, historyEntrySchema } from "../../../service/wire/history.ts";
import { pageLimit, sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

const historySchema = z.strictObject({ history: z.array(historyEntrySchema) });

export const listHistoryRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}/history",
  id: "listHistory",
  summary: "List the code of recent runs, and how they ended",
  description: "With session.persist in the policy, the history survives a restart of the service.",
  tag: "sessions",
  scope: "read",
  params: sessionParams,
  query: z.strictObject({ limit: pageLimit }),
  replies: { 200: { description: "newest last", schema: historySchema } },
  async handle({ params, query, tenant }) {
    const entries = await (await tenant.sessions.get(params.session)).history(query.limit);
    return { json: { history: entries.map(encodeHistoryEntry) } };
  },
});
