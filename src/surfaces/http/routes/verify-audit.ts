import { z } from "zod";
import { reportJson } from "../../../service/audit/report-json.ts";
import { auditOf } from "../audit-view.ts";
import { defineRoute } from "../route.ts";

const reportSchema = z.object({
  sound: z.boolean(),
  chains: z.array(
    z.looseObject({
      chain: z.string(),
      lines: z.number(),
      live: z.boolean().describe("a process is still writing to this chain"),
      head: z.string().nullable().describe("store it elsewhere, for `codecell audit verify --head`"),
    }),
  ),
  problems: z.array(z.looseObject({ chain: z.string(), message: z.string() })),
});

export const verifyAuditRoute = defineRoute({
  method: "GET",
  path: "/v1/audit/verify",
  id: "verifyAudit",
  summary: "Verify that no line of the audit was changed",
  description: "Reads the audit of all tenants. Concurrent calls share one verification.",
  tag: "audit",
  scope: "admin",
  replies: { 200: { description: "what was found", schema: reportSchema } },
  async handle({ service }) {
    return { json: reportJson(await auditOf(service).verify()) };
  },
});
