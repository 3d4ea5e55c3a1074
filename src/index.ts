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
export type { EgressOptions } from "./egress/process/egress-process.ts";
export type { EgressTimes } from "./egress/rules/limits.ts";
export type { Language, RestoreFailure, RunError, RunState, RunStatus, Variable } from "./kernel/messages.ts";
export type { ValuePreview } from "./kernel/value-preview.ts";
export { CodecellError, type CodecellErrorCode, type CodecellErrorOptions } from "./lib/errors.ts";
export type { Logger } from "./lib/log/logger.ts";
export type { PassedListener } from "./lib/passed-listener.ts";
export type { LiveChange } from "./policy/change/live-rules.ts";
export { type Authority, mergePolicy, type PolicyChange } from "./policy/change/merge.ts";
export { type LoadPolicyOptions, loadPolicy } from "./policy/file/load-policy.ts";
export { parsePolicy } from "./policy/file/parse-policy.ts";
export type { PathContext } from "./policy/paths/host-path.ts";
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
export type { LinePattern } from "./service/output/find-lines.ts";
export {
  type KeptMatches,
  KeptOutput,
  type KeptOutputLimits,
  type KeptPage,
  type StreamSize,
  type TextChoice,
} from "./service/output/kept-output.ts";
export type { KeptStream } from "./service/output/kept-stream.ts";
export {
  renderShaped,
  type SectionName,
  type ShapeBudget,
  type ShapedResult,
  type ShapedSection,
  type ShapedText,
  shapeResult,
} from "./service/output/shape-output.ts";
export type { PageRequest, TextPage } from "./service/output/text-page.ts";
export type { SearchAnswer, SearchRequest, TextMatch } from "./service/output/text-search.ts";
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
} from "./service/runs/run-registry.ts";
export { builtInRunners, type OpenOptions, openCodecell } from "./sessions/built-in-runners.ts";
export type { Checkpoint } from "./sessions/checkpoints.ts";
export { Codecell, type CodecellOptions } from "./sessions/codecell.ts";
export type { LiveSession } from "./sessions/live-session.ts";
export { LiveSessions, type LiveSessionsOptions, type OpenLiveSessionOptions } from "./sessions/live-sessions.ts";
export type { ReachedHost, RefusedHost, RunEgress } from "./sessions/network/egress-record.ts";
export { openAudit } from "./sessions/open-audit.ts";
export type { PolicyReload } from "./sessions/reloaded-policy.ts";
export type { DisplayEvent, LiveRunOptions, Run, RunEvent, RunResult, RunUsage } from "./sessions/runs/run.ts";
export type { NumberedEvent } from "./sessions/runs/run-log.ts";
export type { RunOptions, Session, SessionInfo, SessionState } from "./sessions/session.ts";
export type { ReadOptions } from "./sessions/session-values.ts";
export type { HistoryEntry } from "./sessions/storage/session-history.ts";
export type { RestoreReport } from "./sessions/storage/session-saves.ts";
export type { SnapshotInfo } from "./sessions/storage/store.ts";
export type { PoolStatistics } from "./sessions/warm-pool.ts";
