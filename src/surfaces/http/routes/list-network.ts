import { z } from "zod";
import { allows } from "../../../service/tenants/scope.ts";
import { encodeNetworkEntry, networkEntrySchema } from "../../../service/wire/network.ts";
import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const listNetworkRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}/network",
  id: "listNetwork",
  summary: "List what a session asked of the network, and which rule decided",
  description:
    "The last 1,000 decisions, also of a run that is running. They are kept in memory, as long as the cell of the session. Sessions in the same cell share entries that belong to no single run.",
  tag: "sessions",
  scope: "read",
  params: sessionParams,
  replies: {
    200: {
      description: "oldest first",
      schema: z.strictObject({
        enabled: z.boolean().describe("whether the policy opens the network"),
        entries: z.array(networkEntrySchema),
        dropped: z.int().describe("how many older entries are not kept any more"),
      }),
    },
  },
  async handle({ params, tenant, scopes }) {
    const session = await tenant.sessions.get(params.session);
    const { entries, dropped } = session.managed.networkLog;
    const hasAddress = allows(scopes, "admin");
    const listed = entries.map((entry) => encodeNetworkEntry(entry, { hasAddress }));
    return { json: { enabled: session.policy.net.enabled, entries: listed, dropped } };
  },
});
