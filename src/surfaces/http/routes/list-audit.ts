import { z } from "zod";
import { type AuditFilter, auditEventTypes } from "../../../service/audit/audit-files.ts";
import { streamAudit } from "../answers/stream-audit.ts";
import { auditAccess, auditEntrySchema, auditOf } from "../audit-view.ts";
import { pageLimit } from "../parameters.ts";
import { defineRoute } from "../route.ts";

const groups = [...new Set(auditEventTypes.map((type) => type.split(".")[0] ?? ""))];
const kinds: ReadonlySet<string> = new Set([...groups, ...auditEventTypes]);
const time = z.iso.datetime({ offset: true });

const pageSchema = z.object({
  entries: z.array(auditEntrySchema),
  next: z.string().describe("`after` of the next page; also set at the end, to get new events later"),
  more: z.boolean().describe("whether there are more events already"),
});

export const listAuditRoute = defineRoute({
  method: "GET",
  path: "/v1/audit",
  id: "listAudit",
  summary: "List the audit events of this token's sessions",
  description:
    "Returns the last events, oldest first. `from=start` starts with the first event, `after` continues after a page. A page can be empty even if there are `more`. With `Accept: text/event-stream`, the response also streams new events until the client disconnects. A token with the scope `admin` gets the events of all tenants, with their namespaces.",
  tag: "audit",
  scope: "audit",
  query: z.strictObject({
    session: z.string().max(64).optional(),
    run: z.coerce.number().int().min(1).optional(),
    type: z
      .string()
      .max(1024)
      .transform((text) => text.split(","))
      .refine((types) => types.every((type) => kinds.has(type)), { error: `one or more of ${[...kinds].join(", ")}` })
      .optional()
      .describe("such as `run.ended`, or `run` for all types that start with it; separate several with commas"),
    since: time.optional(),
    until: time.optional(),
    from: z.enum(["start", "end"]).default("end"),
    after: z.string().max(16_384).optional().describe("`next` of the previous page"),
    limit: pageLimit,
  }),
  replies: { 200: { description: "ordered by time", schema: pageSchema } },
  async handle({ query, tenant, scopes, service, request, signal }) {
    const audit = auditOf(service);
    const reader = { namespace: tenant.namespace, signal };
    const access = auditAccess(tenant, scopes, query.session);
    const filter: AuditFilter = {
      ...{ ...access.filter, run: query.run, types: query.type },
      sinceMs: query.since === undefined ? undefined : Date.parse(query.since),
      untilMs: query.until === undefined ? undefined : Date.parse(query.until),
    };
    const isLast = query.after === undefined && query.from === "end";
    const from = query.after === undefined ? new Map() : audit.placesOf(query.after);
    const page = isLast
      ? await audit.last(reader, query.limit, filter)
      : await audit.page(reader, from, query.limit, filter);
    if (request.headers.accept?.includes("text/event-stream")) {
      return streamAudit(audit, page, { filter, view: access.view, service, tenant });
    }
    const entries = page.entries.map(access.view);
    return { json: { entries, next: audit.cursor(page.places), more: !page.isEnd } };
  },
});
