/** Where events are recorded, and an audit that records nothing. */
export { type Audit, silentAudit } from "./audit.ts";
/** The audit directory of a state directory. */
export { auditDirectory } from "./chain/chain-files.ts";
/** One audit chain and its problems. */
export type { AuditProblem, ChainReport } from "./chain/chain-reader.ts";
/** One recorded event, as a union over `type`. */
export type { AuditEvent, ChainHead } from "./event.ts";
/** Reads recorded events of every chain, oldest first. */
export { type AuditEntry, type AuditFilter, readAudit } from "./read.ts";
/** Checks that no recorded event was edited or removed. */
export { type AuditReport, verifyAudit } from "./verify.ts";
