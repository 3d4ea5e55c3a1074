export type {
  Artifact,
  ChangedFile,
  DescribedArtifacts,
  DescribeOptions,
  LeftOut,
  LeftOutReason,
} from "./artifacts/artifacts.ts";
export type { HostFileForm } from "./artifacts/host-file-form.ts";
export type { FileFacts, FileList, ListOptions } from "./artifacts/list-files.ts";
export type { ByteRange, OpenFile } from "./artifacts/regular-file.ts";
export type { FileStream, WorkspaceFiles } from "./artifacts/workspace-files.ts";
export type { FileSource, WriteOptions } from "./artifacts/write-file.ts";
export { type Audit, silentAudit } from "./audit/audit.ts";
export { auditDirectory } from "./audit/chain-files.ts";
export type { AuditProblem, ChainReport } from "./audit/chain-reader.ts";
export type { AuditEvent, ChainHead } from "./audit/event.ts";
export { type AuditEntry, type AuditFilter, readAudit } from "./audit/read.ts";
export { type AuditReport, verifyAudit } from "./audit/verify.ts";
export type { EgressOptions } from "./egress/egress-process.ts";
export type { EgressTimes } from "./egress/limits.ts";
export type { Language, RestoreFailure, RunError, RunState, RunStatus, Variable } from "./kernel/messages.ts";
export type { ValuePreview } from "./kernel/value-preview.ts";
export { CodecellError, type CodecellErrorCode, type CodecellErrorOptions } from "./lib/errors.ts";
export type { Logger } from "./lib/logger.ts";
export type { PassedListener } from "./lib/passed-listener.ts";
export type { PathContext } from "./policy/host-path.ts";
export type { LiveChange } from "./policy/live-rules.ts";
export { type LoadPolicyOptions, loadPolicy } from "./policy/load-policy.ts";
export { type Authority, mergePolicy, type PolicyChange } from "./policy/merge.ts";
export { parsePolicy } from "./policy/parse-policy.ts";
export type { PolicyFieldName } from "./policy/rules.ts";
export type { Policy, PolicyInput, PolicyOverride, RunnerName } from "./policy/schema.ts";
export type {
  EnforcedBy,
  EnforcedRule,
  EnforcementPlan,
  EnforcementReceipt,
  NetworkCarrier,
  RefusedRule,
} from "./runners/receipt.ts";
export type { Choice, PassedOver } from "./runners/registry.ts";
export type {
  Carrier,
  Cell,
  CellExit,
  CellSpec,
  CellUsage,
  Guarantee,
  KernelSetup,
  Probe,
  ProbeOptions,
  SandboxRunner,
  SessionWorkspace,
  StartOptions,
} from "./runners/runner.ts";
export type { Checkpoint } from "./sessions/checkpoints.ts";
export { Codecell, type CodecellOptions, type OpenSessionOptions } from "./sessions/codecell.ts";
export type { ReachedHost, RefusedHost, RunEgress } from "./sessions/egress-record.ts";
export type { LinePattern } from "./sessions/find-lines.ts";
export {
  type KeptMatches,
  KeptOutput,
  type KeptOutputLimits,
  type KeptPage,
  type StreamSize,
  type TextChoice,
} from "./sessions/kept-output.ts";
export type { KeptStream } from "./sessions/kept-stream.ts";
export type { ManagedRunOptions, ManagedSession, SessionInfo, SessionState } from "./sessions/managed-session.ts";
export { type ManagerOptions, SessionManager } from "./sessions/manager.ts";
export { builtInRunners, type OpenOptions, openCodecell } from "./sessions/open.ts";
export { openAudit } from "./sessions/open-audit.ts";
export type { PolicyReload } from "./sessions/reloaded-policy.ts";
export type { DisplayEvent, Run, RunEvent, RunOptions, RunResult } from "./sessions/run.ts";
export type { NumberedEvent } from "./sessions/run-log.ts";
export {
  type FollowedRun,
  type ReleasePlace,
  type RunHandle,
  RunRegistry,
  type RunRegistryOptions,
  type RunStarter,
  type RunStartOptions,
  type StillRunning,
  type WaitOptions,
} from "./sessions/run-registry.ts";
export type { Session } from "./sessions/session.ts";
export type { HistoryEntry } from "./sessions/session-history.ts";
export type { RestoreReport } from "./sessions/session-saves.ts";
export type { ReadOptions } from "./sessions/session-values.ts";
export {
  type SectionName,
  type ShapeBudget,
  type ShapedResult,
  type ShapedSection,
  type ShapedText,
  shapeResult,
} from "./sessions/shape-output.ts";
export type { SnapshotInfo } from "./sessions/store.ts";
export type { PageRequest, TextPage } from "./sessions/text-page.ts";
export type { SearchAnswer, SearchRequest, TextMatch } from "./sessions/text-search.ts";
export type { PoolStatistics } from "./sessions/warm-pool.ts";
