import { z } from "zod";
import { encodeSample, usageSampleSchema } from "../../../service/wire/sessions/session-usage.ts";
import { splitKey } from "../../../sessions/session-id.ts";
import { namespacesQuery, requireAdmin } from "../other-tenant.ts";
import { defineRoute } from "../route.ts";

/** Of each session; the route of one session has all of them. */
const maxSamples = 60;

const listSchema = z.strictObject({
  sessions: z.array(
    z.strictObject({
      session_id: z.string(),
      namespace: z.string().optional().describe("only with `namespaces=all`"),
      samples: z.array(usageSampleSchema).describe(`oldest first; the last ${maxSamples}`),
    }),
  ),
});

export const listUsageRoute = defineRoute({
  method: "GET",
  path: "/v1/usage",
  id: "listUsage",
  summary: "Show what the live sessions of this token use over time",
  description:
    "There is a sample after each run. For 30 s after a call, cells are also measured every 2 s, idle ones every 10 s.",
  tag: "sessions",
  scope: "read",
  query: z.strictObject({ namespaces: namespacesQuery }),
  replies: { 200: { description: "sessions that have a cell", schema: listSchema } },
  async handle({ query, tenant, scopes, service }) {
    const isAll = query.namespaces === "all";
    if (isAll) requireAdmin(scopes, "`namespaces=all`");
    await service.usage.look();
    const sessions = service.codecell.openSessions().flatMap(({ key, state, samples }) => {
      const { namespace, id } = splitKey(key);
      if (state !== "live" || namespace === undefined || (!isAll && namespace !== tenant.namespace)) return [];
      const shown = samples.slice(-maxSamples).map(encodeSample);
      return [{ session_id: id, ...(isAll ? { namespace } : {}), samples: shown }];
    });
    return { json: { sessions } };
  },
});
