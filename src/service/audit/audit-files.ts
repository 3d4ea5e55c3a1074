/** The part of the audit that surfaces may use: they read it, and sessions write it. */
export { auditDirectory, listChains, readHead } from "../../audit/chain/chain-files.ts";
export { csvHeader, csvLine } from "../../audit/csv.ts";
export { auditEventTypes, type ChainHead } from "../../audit/event.ts";
export { auditPlaces, followAudit } from "../../audit/follow.ts";
export type { AuditPage } from "../../audit/page.ts";
export { type AuditEntry, type AuditFilter, lastEntries, readAudit } from "../../audit/read.ts";
export { type AuditReport, verifyAudit } from "../../audit/verify.ts";
