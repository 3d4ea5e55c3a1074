import { z } from "zod";
import { reportJson, tenantReportJson } from "../../../service/audit/report-json.ts";
import { namespaceOf } from "../../../service/events/event-view.ts";
import { allows } from "../../../service/tenants/scope.ts";
import { sessionKey } from "../../../sessions/session-id.ts";
import { HttpError } from "../answers/error-status.ts";
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
  description:
    "Without `session`, it reads the audit of all tenants, which needs the scope `admin`; concurrent calls share one verification. With it, only the chains that hold the events of this session, without facts of other tenants.",
  tag: "audit",
  scope: "audit",
  query: z.strictObject({ session: z.string().max(64).optional() }),
  replies: { 200: { description: "what was found", schema: reportSchema } },
  async handle({ query, service, tenant, scopes, signal }) {
    const isAdmin = allows(scopes, "admin");
    const audit = auditOf(service);
    const { namespace } = tenant;
    if (query.session === undefined) {
      if (isAdmin) return { json: reportJson(await audit.verify()) };
      throw new HttpError("forbidden", "only a token with the scope admin can verify the whole audit", {
        hint: "add `?session=ID` to verify the chains of one of your sessions",
      });
    }
    // An admin names a session as the audit shows it: with its namespace.
    const isKey = isAdmin && namespaceOf(query.session) !== undefined;
    const key = isKey ? query.session : sessionKey(namespace, query.session);
    const report = await audit.verifySession(key, { namespace, signal });
    return { json: isAdmin ? reportJson(report) : tenantReportJson(report, namespace) };
  },
});
