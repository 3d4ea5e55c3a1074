import { z } from "zod";
import type { Audience } from "../../../service/events/event-rings.ts";
import { allows, type Scope } from "../../../service/tenants/scope.ts";
import { isNamespace, sessionKey } from "../../../sessions/session-id.ts";
import { HttpError } from "../answers/error-status.ts";
import { streamEvents } from "../answers/stream-events.ts";
import { defineRoute } from "../route.ts";

export const streamEventsRoute = defineRoute({
  method: "GET",
  path: "/v1/events",
  id: "streamEvents",
  summary: "Stream what happens in the sessions of this token",
  description:
    "Server-sent events: those of the audit, also if no audit is written, and `session.changed`, `session.moved`, `usage`, `statistics` (scope `metrics`) and `gap`. Each event has an id. To resume, send the last one as `Last-Event-ID` or `after`. `gap` says that events were lost: load everything again. A token with the scope `admin` can read the events of all tenants.",
  tag: "service",
  scope: "read",
  query: z.strictObject({
    session: z.string().max(64).optional().describe("only events of this session"),
    namespaces: z.enum(["own", "all"]).default("own").describe("`all`: of every tenant; needs the scope `admin`"),
    namespace: z
      .string()
      .refine(isNamespace, { error: "expected a namespace, such as ns-0123456789ab" })
      .optional()
      .describe("only events of this tenant; needs the scope `admin`"),
    after: z.string().max(64).optional().describe("the id of the last event that the client has"),
  }),
  headers: z.object({ "Last-Event-ID": z.string().optional().describe("the same as `after`, which takes precedence") }),
  replies: { 200: { description: "events, until the client disconnects", contentType: "text/event-stream" } },
  /** The gateway of a session has its events. */
  sessionOf({ query, namespace: own, scopes }) {
    const session = query.get("session");
    const other = query.get("namespace");
    const namespace = other !== null && isNamespace(other) && allows(scopes, "admin") ? other : own;
    const isOne = session !== null && query.get("namespaces") !== "all" && (other === null || other === namespace);
    return isOne && namespace !== undefined ? sessionKey(namespace, session) : undefined;
  },
  isGlance: true,
  async handle({ query, tenant, scopes, service, request }) {
    const header = request.headers["last-event-id"];
    const after = query.after ?? (typeof header === "string" ? header.slice(0, 64) : undefined);
    const audience = audienceOf(query, tenant.namespace, scopes);
    const hasMetrics = allows(scopes, "metrics");
    const open = () => service.events.read({ audience, session: query.session, hasMetrics, after });
    return streamEvents(open, { service, tenant });
  },
});

function audienceOf(
  { namespaces, namespace }: { readonly namespaces: "own" | "all"; readonly namespace?: string | undefined },
  own: string,
  scopes: readonly Scope[],
): Audience {
  if (namespaces === "own" && namespace === undefined) return { numbering: "own", namespace: own };
  if (allows(scopes, "admin")) return { numbering: "all", namespace };
  throw new HttpError("forbidden", "only a token with the scope admin can read the events of other tenants", {
    hint: "leave out `namespaces` and `namespace`",
  });
}
