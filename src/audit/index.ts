/** Where events go, and the audit that records nothing. */
export { type Audit, silentAudit } from "./audit.ts";
/** The directory of the audit below a state directory. */
export { auditDirectory } from "./chain-files.ts";
/** One recorded event, as a union over `type`. */
export type { AuditEvent } from "./event.ts";
/** Reads recorded events of every chain, oldest first. */
export { type AuditEntry, type AuditFilter, readAudit } from "./read.ts";
/** Proves that no recorded event was edited. */
export { type AuditReport, verifyAudit } from "./verify.ts";
