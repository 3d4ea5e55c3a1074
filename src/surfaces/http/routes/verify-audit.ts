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
      live: z.boolean().describe("some process writes it"),
      head: z.string().nullable().describe("to be kept elsewhere, for `codecell audit verify --head`"),
    }),
  ),
  problems: z.array(z.looseObject({ chain: z.string(), message: z.string() })),
});

export const verifyAuditRoute = defineRoute({
  method: "GET",
  path: "/v1/audit/verify",
  id: "verifyAudit",
  summary: "Whether every line of the audit is as it was written",
  description: "Reads all of it, for all tenants. Calls at the same time share one answer.",
  tag: "audit",
  scope: "admin",
  replies: { 200: { description: "what was found", schema: reportSchema } },
  async handle({ service }) {
    return { json: reportJson(await auditOf(service).verify()) };
  },
});
