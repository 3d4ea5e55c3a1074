import type { ServerResponse } from "node:http";
import { firstSignal } from "../../../lib/waiting/first-signal.ts";
import type { AuditEntry, AuditFilter, AuditPage } from "../../../service/audit/audit-files.ts";
import type { AuditReader } from "../../../service/audit/audit-reader.ts";
import type { Tenant } from "../../../service/tenants/tenant.ts";
import type { Reply } from "../route.ts";
import type { HttpService } from "../service.ts";
import { EventStream } from "./sse.ts";

export interface StreamAuditOptions {
  readonly filter: AuditFilter;
  readonly view: (entry: AuditEntry) => object;
  readonly service: HttpService;
  readonly tenant: Tenant;
}

/** Streams a page of the audit, then new events as they are written; each event once. */
export function streamAudit(
  audit: AuditReader,
  page: AuditPage,
  { filter, view, service, tenant }: StreamAuditOptions,
): Reply {
  const send = async (response: ServerResponse, signal: AbortSignal) => {
    using stream = new EventStream(response, service.limits);
    using ending = firstSignal(signal, service.draining, tenant.ended);
    const sent = new Map<string, number>();
    const sendOnce = async (entry: AuditEntry) => {
      if (entry.seq <= (sent.get(entry.chain) ?? 0)) return;
      sent.set(entry.chain, entry.seq);
      await stream.send("audit", view(entry));
    };
    for (const entry of page.entries) await sendOnce(entry);
    for await (const entry of audit.follow(page.places, filter, ending.signal)) await sendOnce(entry);
    response.end();
  };
  return { send };
}
