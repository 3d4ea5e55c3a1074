import { type Audit, silentAudit } from "../audit/audit.ts";
import { auditDirectory } from "../audit/chain-files.ts";
import { AuditLog } from "../audit/log.ts";
import type { Logger } from "../lib/log/logger.ts";
import type { Policy } from "../policy/schema.ts";

export { type Audit, silentAudit } from "../audit/audit.ts";
export { auditDirectory } from "../audit/chain-files.ts";

/** The audit that a policy asks for, in a state directory. No file is created or opened before the first event. */
export function openAudit(policy: Policy, options: { stateDir: string; logger?: Logger; now?: () => number }): Audit {
  const { enabled, durable, keepBytes, keepMs } = policy.audit;
  if (!enabled) return silentAudit;
  const { stateDir, ...rest } = options;
  return new AuditLog({ dir: auditDirectory(stateDir), durable, keepBytes, keepMs, env: policy.env, ...rest });
}
