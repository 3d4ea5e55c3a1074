import { z } from "zod";
import { encodeHistoryEntry, encodeHistoryRuns, historyEntrySchema } from "../../../service/wire/sessions/history.ts";
import { builtInTurn } from "../answers/built-in-turn.ts";
import { jsonType } from "../answers/send-json.ts";
import { flagQuery, pageLimit, sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

/** How many bytes of displayed values one response contains; the rest is null. */
const displayBytes = 8 * 1024 * 1024;

const historySchema = z.strictObject({ history: z.array(historyEntrySchema) });

export const listHistoryRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}/history",
  id: "listHistory",
  summary: "List the code of recent runs, and how they ended",
  description:
    "Outputs are kept up to a limit; those of the latest runs. With session.persist in the policy, the history survives a restart of the service.",
  tag: "sessions",
  scope: "read",
  params: sessionParams,
  query: z.strictObject({
    limit: pageLimit,
    outputs: flagQuery.describe("true: each run contains what it printed, displayed and returned"),
  }),
  replies: { 200: { description: "newest last", schema: historySchema } },
  async handle({ params, query, tenant, memory, signal }) {
    const outputs = query.outputs === "true";
    const session = await tenant.sessions.get(params.session);
    const bytes = await builtInTurn({ queue: tenant.exports, memory, signal }, async () => {
      const runs = await session.history({ limit: query.limit, outputs });
      const history = outputs ? encodeHistoryRuns(runs, displayBytes) : runs.map(encodeHistoryEntry);
      return Buffer.from(JSON.stringify({ history }));
    });
    return { bytes: [bytes], contentType: jsonType };
  },
});
