import { z } from "zod";
import { CodecellError } from "../../lib/errors.ts";
import type { AuditEntry, AuditFilter } from "../../service/audit/audit-files.ts";
import type { Scope } from "../../service/tenants/scope.ts";
import type { Tenant } from "../../service/tenants/tenant.ts";
import { shownId } from "../../sessions/session-id.ts";
import type { HttpService } from "./service.ts";

export const auditEntrySchema = z
  .looseObject({
    time: z.string(),
    type: z.string().describe("docs/audit.md lists all types and their fields"),
    session: z.string().optional(),
    run: z.number().optional().describe("number of the run in its session"),
    chain: z.string().optional().describe("only for tokens with the scope `admin`, like `seq`"),
    seq: z.number().optional(),
  })
  .describe("an event of the audit");

/** The part of the audit that a caller may read: everything with `admin`, otherwise the sessions of its namespace. */
export interface AuditAccess {
  readonly filter: Pick<AuditFilter, "session" | "sessionPrefix">;
  readonly view: (entry: AuditEntry) => z.output<typeof auditEntrySchema>;
}

export function auditAccess(tenant: Tenant, scopes: readonly Scope[], session: string | undefined): AuditAccess {
  if (scopes.includes("admin")) {
    return {
      filter: { session },
      view: ({ chain, seq, time, event }) => ({ time, ...event, chain, seq }),
    };
  }
  const prefix = `${tenant.namespace}.`;
  return {
    filter: { sessionPrefix: prefix, session: session === undefined ? undefined : `${prefix}${session}` },
    // Without line numbers: gaps would reveal how active other tenants are.
    view: ({ time, event }) => ({ time, ...event, ...tenantIds(event) }),
  };
}

/** The fields with a session id, with the id that the tenant uses. */
function tenantIds(event: AuditEntry["event"]): Record<string, string> {
  const names = ["session", "from"].filter((name) => typeof event[name] === "string");
  return Object.fromEntries(names.map((name) => [name, shownId(String(event[name]))]));
}

export function auditOf({ audit }: HttpService) {
  if (audit) return audit;
  throw new CodecellError("not_supported", "this service has no audit", {
    hint: "set `audit.enabled` in its policy",
  });
}
