import { z } from "zod";
import type { FileList } from "../../../artifacts/workspace-file.ts";
import type { SessionInfo } from "../../../sessions/session-info.ts";
import type { HistoryEntry } from "../../../sessions/storage/session-history.ts";
import type { StoredSession } from "../../../sessions/storage/stored-sessions.ts";
import { encodeFileList, fileListSchema } from "../file.ts";
import { encodeTime, timestamp } from "../timestamp.ts";
import { checkpointSchema, encodeCheckpoint } from "./checkpoint.ts";
import { encodeHistoryEntry, historyEntrySchema } from "./history.ts";
import { encodeSnapshot, snapshotSchema } from "./snapshot.ts";

export const sessionSchema = z.strictObject({
  session_id: z.string(),
  state: z
    .enum(["live", "saved", "closed", "damaged"])
    .describe("`saved`: the next call restores it; `damaged`: its files cannot be read"),
  busy: z.boolean().nullable().describe("whether a run is running in it; null: another process owns the session"),
  persistent: z.boolean().describe("whether it is saved when it is closed"),
  runs: z
    .int()
    .nullable()
    .describe("number of its last run; null: damaged, or known only to the gateway that has it open"),
  runner: z.string().nullable().describe("null: unknown, because it was never saved"),
  created_at: timestamp.nullable().describe("null: as for `runs`"),
  used_at: timestamp.nullable().describe("start or end of its last run; null: as for `runs`"),
  checkpoints: z.array(checkpointSchema).nullable().describe("oldest first; null: another process owns the session"),
  saved_variables: z.int().nullable().describe("number of variables in its snapshot; null: no snapshot"),
  skipped_variables: z.int().nullable().describe("number of variables that could not be saved; null: no snapshot"),
  snapshot_size: z.int().nullable().describe("bytes of its snapshot on disk; null: no snapshot"),
  shared_cell: z
    .int()
    .nullable()
    .describe("number of sessions in the same cell, this one included; null: another process owns the session"),
  problem: z.string().nullable().describe("why it cannot be read; null unless it is damaged"),
  policy_hash: z
    .string()
    .nullable()
    .describe("sha256 of the policy in force, as in receipts; null: it has no cell, or another process owns it"),
  namespace: z.string().optional().describe("only in the list of all tenants: the namespace of its token"),
  tenant: z.string().optional().describe("only in the list of all tenants: the name of its token"),
  gateway: z
    .string()
    .optional()
    .describe("only in the list of all tenants, and if several gateways share a database: the one that has it open"),
});
/** A session in the wire format. */
export type WireSession = z.output<typeof sessionSchema>;

/** The output of `codecell sessions show --json`. */
export const sessionDetailSchema = z.strictObject({
  ...sessionSchema.omit({ namespace: true, tenant: true, gateway: true }).shape,
  snapshot: snapshotSchema.nullable().describe("its saved variables"),
  history: z.array(historyEntrySchema).describe("its last runs, newest last"),
  ...fileListSchema.shape,
  files: fileListSchema.shape.files.nullable().describe("null: it has no workspace of its own on this host"),
});
export type WireSessionDetail = z.output<typeof sessionDetailSchema>;

/** A session of this process. */
export function encodeSession(info: SessionInfo): WireSession {
  const { id, state, isBusy, isPersistent, runs, runner, createdMs, usedMs, checkpoints, snapshot, sharers } = info;
  return {
    ...{ session_id: id, state, busy: isBusy, persistent: isPersistent, runs, runner },
    ...{ created_at: encodeTime(createdMs), used_at: encodeTime(usedMs) },
    checkpoints: checkpoints.map(encodeCheckpoint),
    ...snapshotFields(snapshot),
    ...{ shared_cell: sharers, problem: null, policy_hash: info.policyHash ?? null },
  };
}

/** A session that another gateway has open. `saved` is what is stored of it; undefined: nothing. */
export function encodeRemoteSession(id: string, saved: SessionInfo | undefined): WireSession {
  const unknown = { busy: null, checkpoints: null, shared_cell: null, policy_hash: null, problem: null };
  return {
    ...{ session_id: id, state: "live", ...unknown, persistent: saved !== undefined, runs: saved?.runs ?? null },
    runner: saved?.runner ?? null,
    created_at: saved ? encodeTime(saved.createdMs) : null,
    used_at: saved ? encodeTime(saved.usedMs) : null,
    ...snapshotFields(saved?.snapshot),
  };
}

/** A session as stored on disk, even if another process has it open. */
export function encodeStoredSession(session: StoredSession): WireSession {
  const unknown = { busy: null, persistent: true, checkpoints: null, shared_cell: null, policy_hash: null };
  const { id, state } = session;
  if (session.state === "damaged") {
    return {
      ...{ session_id: id, state, ...unknown, runs: null, runner: null, created_at: null, used_at: null },
      ...{ ...snapshotFields(undefined), problem: session.problem },
    };
  }
  const { createdMs, usedMs, runs, snapshot } = session.record;
  return {
    ...{ session_id: id, state, ...unknown, runs, runner: snapshot?.runner ?? null },
    ...{ created_at: encodeTime(createdMs), used_at: encodeTime(usedMs), ...snapshotFields(snapshot), problem: null },
  };
}

export function encodeSessionDetail(
  session: Extract<StoredSession, { state: "saved" | "live" }>,
  history: readonly HistoryEntry[],
  files: FileList | undefined,
): WireSessionDetail {
  const { snapshot } = session.record;
  const noFiles = { files: null, next: null, left_out: 0, truncated: false };
  return {
    ...encodeStoredSession(session),
    snapshot: snapshot ? encodeSnapshot(session.id, snapshot) : null,
    history: history.map(encodeHistoryEntry),
    ...(files ? encodeFileList(files) : noFiles),
  };
}

function snapshotFields(snapshot: SessionInfo["snapshot"]) {
  return {
    saved_variables: snapshot?.saved.length ?? null,
    skipped_variables: snapshot?.skipped.length ?? null,
    snapshot_size: snapshot?.bytes ?? null,
  };
}
