/** Files that runs made or changed. */
export type { Artifact, DescribedArtifacts } from "./artifacts/artifact.ts";
/** How `session.load` reads a host file. */
export type { HostFileForm } from "./artifacts/host-file-form.ts";
/** One file of a workspace, and a page of them. */
/** What `session.upload` takes: bytes, or pieces as they come. */
export type { FileFacts, FileList, FileSource } from "./artifacts/workspace-file.ts";
/** A workspace as the host reaches it: read, write, list, remove. */
export type { WorkspaceFiles } from "./artifacts/workspace-files.ts";
/** How the egress proxy is set up by the program that embeds it. */
export type { EgressOptions } from "./egress/process/egress-process.ts";
/** How a run ended, why it failed, and a variable of a session. */
export type { Inspection, RunError, RunState, RunStatus, Variable } from "./kernel/messages.ts";
/** The beginning of a value as text. */
export type { ValuePreview } from "./kernel/value-preview.ts";
/** The one error of codecell: a code to branch on and a hint to act on. */
export { CodecellError, type CodecellErrorCode } from "./lib/errors.ts";
/** Operational messages; pass one in to see them. */
export type { Logger } from "./lib/log/logger.ts";
/** Rules that a living session may change. */
export type { LiveChange } from "./policy/change/live-rules.ts";
/** Applies an override to a policy, within its ceiling. */
export { type Authority, mergePolicy, type PolicyChange } from "./policy/change/merge.ts";
/** Reads a policy file. */
export { type LoadPolicyOptions, loadPolicy } from "./policy/file/load-policy.ts";
/** Checks a policy that is an object. */
export { parsePolicy } from "./policy/file/parse-policy.ts";
/** The languages that a run can be in. */
export type { Language } from "./policy/languages.ts";
/** Where relative paths of a policy start. */
export type { PathContext } from "./policy/paths/host-path.ts";
/** A checked policy, what people write, and what an override may hold. */
export type { Policy, PolicyInput, PolicyOverride } from "./policy/schema.ts";
/** What was enforced, rule by rule, and by what. */
export type { EnforcedRule, EnforcementReceipt } from "./runners/receipt.ts";
/** The front door. */
export { Codecell } from "./sessions/codecell.ts";
export type { CodecellOptions } from "./sessions/codecell-options.ts";
/** Functions of the host program that code in a session may call. */
export type { HostCallContext, HostFunction } from "./sessions/functions/host-function.ts";
/** A frozen copy of the interpreter. */
export type { Checkpoint } from "./sessions/interpreter/checkpoint.ts";
/** What code can be completed with. */
export type { Completions } from "./sessions/interpreter/completions.ts";
/** How large a value may be that is read out of a session. */
export type { ReadOptions } from "./sessions/interpreter/read-options.ts";
/** Hosts that a run reached or was refused. */
export type { RunEgress } from "./sessions/network/egress-record.ts";
/** What of a new policy holds at once, and what only later. */
export type { PolicyReload } from "./sessions/rules/reloaded-policy.ts";
/** One execution: its events, its result and how it ended. */
export type { DisplayEvent, Run, RunEvent, RunResult, RunUsage } from "./sessions/runs/run.ts";
/** How one run goes. */
export type { RunOptions } from "./sessions/runs/run-options.ts";
/** A session, and what is known of it. */
export type { Session } from "./sessions/session.ts";
export type { SessionInfo, SessionState } from "./sessions/session-info.ts";
/** One past run of a session. */
export type { HistoryEntry } from "./sessions/storage/session-history.ts";
/** The last save of a session's variables. */
export type { SnapshotInfo } from "./sessions/storage/session-record.ts";
/** What came back of a saved session. */
export type { RestoreReport } from "./sessions/storage/session-saves.ts";
