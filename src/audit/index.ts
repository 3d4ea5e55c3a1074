/** Where events go, and the audit that records nothing. */
export { type Audit, silentAudit } from "./audit.ts";
/** The directory of the audit below a state directory. */
export { auditDirectory } from "./chain-files.ts";
/** One chain of the audit, and what is wrong in it. */
export type { AuditProblem, ChainReport } from "./chain-reader.ts";
/** One recorded event, as a union over `type`. */
export type { AuditEvent, ChainHead } from "./event.ts";
/** Reads recorded events of every chain, oldest first. */
export { type AuditEntry, type AuditFilter, readAudit } from "./read.ts";
/** Proves that no recorded event was edited. */
export { type AuditReport, verifyAudit } from "./verify.ts";
