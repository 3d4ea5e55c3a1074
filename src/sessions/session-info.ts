import type { Checkpoint } from "./interpreter/checkpoint.ts";
import type { SessionRecord, SnapshotInfo } from "./storage/session-record.ts";

/** Where a session is: in a cell, on disk, or over. */
export type SessionState = "live" | "saved" | "closed";

/** What is known of a session without waking it. */
export interface SessionInfo {
  readonly id: string;
  readonly state: SessionState;
  readonly isBusy: boolean;
  readonly createdMs: number;
  readonly usedMs: number;
  readonly runs: number;
  readonly runner: string;
  readonly isPersistent: boolean;
  readonly checkpoints: readonly Checkpoint[];
  readonly snapshot: SnapshotInfo | undefined;
  /** sessions in the same cell, this one included: forks share limits and workspace */
  readonly sharers: number;
  /** sha256 of the policy in force, as in receipts; undefined: it has no cell */
  readonly policyHash: string | undefined;
}

/** What is known of a session that is on disk. `nextRunner` is named if no snapshot says where it ran. */
export function savedInfo(id: string, record: SessionRecord, nextRunner: string): SessionInfo {
  const { createdMs, usedMs, runs, snapshot } = record;
  return {
    ...{ id, state: "saved", isBusy: false, createdMs, usedMs, runs, snapshot, checkpoints: [], sharers: 0 },
    policyHash: undefined,
    runner: snapshot?.runner ?? nextRunner,
    isPersistent: true,
  };
}
