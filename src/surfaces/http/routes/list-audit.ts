import { z } from "zod";
import { type AuditFilter, auditEventTypes } from "../../../service/audit/audit-files.ts";
import { streamAudit } from "../answers/stream-audit.ts";
import { auditEntrySchema, auditOf, auditSight } from "../audit-view.ts";
import { pageLimit } from "../parameters.ts";
import { defineRoute } from "../route.ts";

const groups = [...new Set(auditEventTypes.map((type) => type.split(".")[0] ?? ""))];
const kinds: ReadonlySet<string> = new Set([...groups, ...auditEventTypes]);
const time = z.iso.datetime({ offset: true });

const pageSchema = z.object({
  entries: z.array(auditEntrySchema),
  next: z.string().describe("`after` of the next page; it holds when there is nothing new yet, too"),
  more: z.boolean().describe("whether the next page begins with what is written already"),
});

export const listAuditRoute = defineRoute({
  method: "GET",
  path: "/v1/audit",
  id: "listAudit",
  summary: "What happened in the sessions of this token",
  description:
    "The last events, oldest of them first; `from=start` begins with the first one, `after` goes on. A page may be empty and yet have `more`. With `Accept: text/event-stream`: the same, then every event as it is written, until the client leaves. A token with the scope `admin` sees the events of everybody, with their namespaces.",
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
      .describe("`run.ended`, or `run` for all that begin so; several with commas"),
    since: time.optional(),
    until: time.optional(),
    from: z.enum(["start", "end"]).default("end"),
    after: z.string().max(16_384).optional().describe("`next` of the page before"),
    limit: pageLimit,
  }),
  replies: { 200: { description: "in the order of time", schema: pageSchema } },
  async handle({ query, tenant, scopes, service, request, signal }) {
    const audit = auditOf(service);
    const reader = { namespace: tenant.namespace, signal };
    const sight = auditSight(tenant, scopes, query.session);
    const filter: AuditFilter = {
      ...{ ...sight.filter, run: query.run, types: query.type },
      sinceMs: query.since === undefined ? undefined : Date.parse(query.since),
      untilMs: query.until === undefined ? undefined : Date.parse(query.until),
    };
    const isLast = query.after === undefined && query.from === "end";
    const from = query.after === undefined ? new Map() : audit.placesOf(query.after);
    const page = isLast
      ? await audit.last(reader, query.limit, filter)
      : await audit.page(reader, from, query.limit, filter);
    if (request.headers.accept?.includes("text/event-stream")) {
      return streamAudit(audit, page, { filter, view: sight.view, service, tenant });
    }
    const entries = page.entries.map(sight.view);
    return { json: { entries, next: audit.cursor(page.places), more: !page.isEnd } };
  },
});
