import { type Audit, silentAudit } from "../audit/audit.ts";
import { auditDirectory } from "../audit/chain/chain-files.ts";
import { AuditLog } from "../audit/log.ts";
import { TenantLogs } from "../audit/tenant-logs.ts";
import type { Logger } from "../lib/log/logger.ts";
import type { Policy } from "../policy/schema.ts";

export { type Audit, silentAudit } from "../audit/audit.ts";
export { auditDirectory } from "../audit/chain/chain-files.ts";

export interface OpenAuditOptions {
  readonly stateDir: string;
  readonly logger?: Logger;
  readonly now?: () => number;
  /** whether each tenant of a service has chains of its own, with a size limit of their own; default false */
  readonly hasTenants?: boolean;
}

/** The audit that a policy asks for, in a state directory. No file is created or opened before the first event. */
export function openAudit(policy: Policy, { stateDir, hasTenants, ...rest }: OpenAuditOptions): Audit {
  const { enabled, durable, keepBytes, keepMs } = policy.audit;
  if (!enabled) return silentAudit;
  const options = { dir: auditDirectory(stateDir), durable, keepBytes, keepMs, env: policy.env, ...rest };
  return hasTenants ? new TenantLogs(options) : new AuditLog(options);
}
