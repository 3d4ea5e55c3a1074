import type { RunStatus, Variable } from "../../kernel/messages.ts";
import type { CodecellError } from "../../lib/errors.ts";
import type { WireRunSummary } from "../../service/wire/runs/run-summary.ts";
import type { WireSession } from "../../service/wire/sessions/session.ts";
import type { Checkpoint } from "../../sessions/interpreter/checkpoint.ts";
import type { SessionInfo } from "../../sessions/session-info.ts";
import type { HistoryEntry } from "../../sessions/storage/session-history.ts";
import type { SnapshotInfo } from "../../sessions/storage/session-record.ts";
import { failureIn, serviceError } from "../http/service-error.ts";
import { Fields } from "./fields.ts";

/** What a service knows of a session without waking it. */
export interface RemoteSessionInfo extends Omit<SessionInfo, "snapshot"> {
  /** its last save; undefined: there is none */
  readonly snapshot: { readonly saved: number; readonly skipped: number; readonly bytes: number } | undefined;
}

/** The last save of a session's variables. */
export interface RemoteSnapshot extends Omit<SnapshotInfo, "sha256" | "files"> {
  /** its saved files; undefined: they are in a directory of the service's host */
  readonly files: Omit<NonNullable<SnapshotInfo["files"]>, "sha256"> | undefined;
}

/** What was restored of a saved session. */
export interface RemoteRestore {
  readonly runner: string;
  /** the last run before the save; undefined: nothing was saved */
  readonly run: number | undefined;
  /** names of the restored variables */
  readonly restored: readonly string[];
  /** variables that were saved but could not be restored, and why */
  readonly failed: readonly { readonly name: string; readonly reason: string }[];
  /** variables that were never saved, and why */
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
  /** why nothing was restored */
  readonly problem: CodecellError | undefined;
}

/** A run that the service still keeps. */
export interface RemoteRunInfo {
  /** for `session.attachRun` */
  readonly runId: string;
  /** `failed`: codecell could not finish it */
  readonly status: RunStatus | "running" | "failed";
  readonly isCancelled: boolean;
  /** while it is running: up to now */
  readonly durationMs: number;
}

const runStatuses = [
  ...(["ok", "error", "timeout", "interrupted", "out_of_memory", "output_limit", "crashed", "cancelled"] as const),
  ...(["running", "failed"] as const),
] satisfies readonly WireRunSummary["status"][];

export function decodeSessionInfo(value: unknown): RemoteSessionInfo {
  const session = new Fields(value, "the session");
  const saved = session.optional("saved_variables", session.count);
  const state = session.oneOf("state", ["live", "saved", "closed"] satisfies readonly WireSession["state"][]);
  return {
    ...{ id: session.text("session_id"), state },
    ...{ isBusy: session.optional("busy", session.flag) ?? false, isPersistent: session.flag("persistent") },
    ...{ runs: session.count("runs"), runner: session.text("runner") },
    ...{ createdMs: session.time("created_at"), usedMs: session.time("used_at") },
    checkpoints: session.list("checkpoints", decodeCheckpoint),
    snapshot:
      saved === undefined
        ? undefined
        : { saved, skipped: session.count("skipped_variables"), bytes: session.count("snapshot_size") },
    sharers: session.count("shared_cell"),
    policyHash: session.optional("policy_hash", session.text),
  };
}

export function decodeCheckpoint(value: unknown, what = "the checkpoint"): Checkpoint {
  const checkpoint = new Fields(value, what);
  return { name: checkpoint.text("name"), run: checkpoint.count("after_run"), atMs: checkpoint.time("created_at") };
}

export function decodeVariable(value: unknown, what: string): Variable {
  const variable = new Fields(value, what);
  const size = variable.optional("size", variable.count);
  return {
    ...{ name: variable.text("name"), type: variable.text("type"), summary: variable.text("summary") },
    ...(size === undefined ? {} : { size }),
  };
}

export function decodeHistoryEntry(value: unknown, what: string): HistoryEntry {
  const entry = new Fields(value, what);
  return {
    ...{ run: entry.count("run"), atMs: entry.time("ended_at"), language: entry.text("language") },
    ...{ code: entry.text("code"), status: entry.text("status"), durationMs: entry.number("duration_ms") },
  };
}

export function decodeRunInfo(value: unknown, what: string): RemoteRunInfo {
  const run = new Fields(value, what);
  return {
    ...{ runId: run.text("run_id"), status: run.oneOf("status", runStatuses) },
    ...{ isCancelled: run.flag("cancelled"), durationMs: run.number("duration_ms") },
  };
}

export function decodeSnapshot(value: unknown): RemoteSnapshot {
  const snapshot = new Fields(value, "the snapshot");
  return {
    ...{ run: snapshot.count("after_run"), savedMs: snapshot.time("saved_at"), bytes: snapshot.count("size") },
    ...{ python: snapshot.text("python"), runner: snapshot.text("runner"), saved: snapshot.texts("variables") },
    skipped: snapshot.list("skipped", decodeMissing),
    files: decodeSavedFiles(snapshot.any("files")),
  };
}

/** A service of an earlier version does not send it. */
function decodeSavedFiles(value: unknown): RemoteSnapshot["files"] {
  if (value === null || value === undefined) return undefined;
  const files = new Fields(value, "the saved files");
  return {
    ...{ count: files.count("count"), bytes: files.count("size") },
    ...{ skipped: files.list("skipped", decodeMissing), skippedCount: files.count("skipped_count") },
  };
}

export function decodeRestore(value: unknown): RemoteRestore {
  const restore = new Fields(value, "the report of what was restored");
  const problem = failureIn({ error: restore.any("problem") });
  return {
    ...{ runner: restore.text("runner"), run: restore.optional("after_run", restore.count) },
    ...{ restored: restore.texts("variables"), failed: restore.list("failed", decodeMissing) },
    ...{ skipped: restore.list("skipped", decodeMissing), problem: problem && serviceError(problem) },
  };
}

function decodeMissing(value: unknown, what: string): { name: string; reason: string } {
  const missing = new Fields(value, what);
  return { name: missing.text("name"), reason: missing.text("reason") };
}
