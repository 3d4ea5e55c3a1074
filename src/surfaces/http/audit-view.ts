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
    type: z.string().describe("docs/audit.md has every kind and its fields"),
    session: z.string().optional(),
    run: z.number().optional().describe("number of the run in its session"),
    chain: z.string().optional().describe("with the scope admin only, like `seq`"),
    seq: z.number().optional(),
  })
  .describe("an event as it was written down");

/** What one caller may see of the audit: everything with `admin`, else the sessions of its own namespace. */
export interface AuditSight {
  readonly filter: Pick<AuditFilter, "session" | "sessionPrefix">;
  readonly view: (entry: AuditEntry) => z.output<typeof auditEntrySchema>;
}

export function auditSight(tenant: Tenant, scopes: readonly Scope[], session: string | undefined): AuditSight {
  if (scopes.includes("admin")) {
    return {
      filter: { session },
      view: ({ chain, seq, time, event }) => ({ time, ...event, chain, seq }),
    };
  }
  const prefix = `${tenant.namespace}.`;
  return {
    filter: { sessionPrefix: prefix, session: session === undefined ? undefined : `${prefix}${session}` },
    // Without line numbers: gaps would tell how much others do.
    view: ({ time, event }) => ({ time, ...event, ...ownNames(event) }),
  };
}

/** Fields that hold the id of a session, as its tenant knows it. */
function ownNames(event: AuditEntry["event"]): Record<string, string> {
  const names = ["session", "from"].filter((name) => typeof event[name] === "string");
  return Object.fromEntries(names.map((name) => [name, shownId(String(event[name]))]));
}

export function auditOf({ audit }: HttpService) {
  if (audit) return audit;
  throw new CodecellError("not_supported", "this service has no audit", {
    hint: "set `audit.enabled` in its policy",
  });
}
