import { z } from "zod";
import { sessionSchema } from "../../../service/wire/sessions/session.ts";
import { splitKey } from "../../../sessions/session-id.ts";
import { listSessions } from "../forwarding/list-sessions.ts";
import { namespacesQuery, requireAdmin } from "../other-tenant.ts";
import { defineRoute } from "../route.ts";

export const listSessionsRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions",
  id: "listSessions",
  summary: "List the sessions of this token",
  tag: "sessions",
  scope: "read",
  query: z.strictObject({ namespaces: namespacesQuery }),
  replies: { 200: { description: "live and saved sessions", schema: z.object({ sessions: z.array(sessionSchema) }) } },
  async handle({ query, tenant, scopes, service }) {
    if (query.namespaces === undefined) {
      const listed = await listSessions(service, `${tenant.namespace}.`);
      return { json: { sessions: listed.map(({ session }) => session) } };
    }
    requireAdmin(scopes, "`namespaces=all`");
    const names = new Map((await service.tenantTokens()).map(({ namespace, name }) => [namespace, name]));
    const sessions = (await listSessions(service, "")).flatMap(({ key, session, gateway }) => {
      const { namespace } = splitKey(key);
      // Sessions of the command line have no namespace, and those of a removed token cannot be opened.
      const name = namespace === undefined ? undefined : names.get(namespace);
      return name === undefined ? [] : [{ ...session, namespace, tenant: name, ...(gateway ? { gateway } : {}) }];
    });
    return { json: { sessions } };
  },
});
