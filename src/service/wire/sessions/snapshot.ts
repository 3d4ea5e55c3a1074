import { z } from "zod";
import type { SnapshotInfo } from "../../../sessions/storage/session-record.ts";
import type { RestoreReport } from "../../../sessions/storage/session-saves.ts";
import { encodeError, errorFieldsSchema } from "../error.ts";
import { encodeTime, timestamp } from "../timestamp.ts";

const missingSchema = z.strictObject({ name: z.string(), reason: z.string() });

export const snapshotSchema = z.strictObject({
  session_id: z.string(),
  after_run: z.int().describe("number of the last run before it"),
  saved_at: timestamp,
  size: z.int().describe("bytes on disk"),
  python: z.string().describe("version of the interpreter that saved it"),
  runner: z.string(),
  variables: z.array(z.string()).describe("names of the saved variables"),
  skipped: z.array(missingSchema).describe("variables that cannot be saved, and why"),
  files: z
    .strictObject({
      count: z.int(),
      size: z.int().describe("bytes of all files together"),
      skipped: z.array(missingSchema).describe("files that were not saved, and why; the first 20"),
      skipped_count: z.int().describe("how many there are"),
    })
    .nullable()
    .describe("the saved files; null: they are in a directory of the host"),
});
export type WireSnapshot = z.output<typeof snapshotSchema>;

export const restoreSchema = z.strictObject({
  session_id: z.string(),
  runner: z.string(),
  after_run: z.int().nullable().describe("number of the last run before the save; null: nothing was saved"),
  variables: z.array(z.string()).describe("names of the restored variables"),
  failed: z.array(missingSchema).describe("variables that were saved but could not be restored, and why"),
  skipped: z.array(missingSchema).describe("variables that were never saved, and why"),
  problem: errorFieldsSchema.nullable().describe("why nothing was restored"),
});
export type WireRestore = z.output<typeof restoreSchema>;

export function encodeSnapshot(sessionId: string, snapshot: SnapshotInfo): WireSnapshot {
  const { run, savedMs, bytes, python, runner, saved, skipped, files } = snapshot;
  return {
    ...{ session_id: sessionId, after_run: run, saved_at: encodeTime(savedMs), size: bytes, python, runner },
    ...{ variables: [...saved], skipped: skipped.map(encodeMissing) },
    files: files
      ? {
          ...{ count: files.count, size: files.bytes },
          ...{ skipped: files.skipped.map(encodeMissing), skipped_count: files.skippedCount },
        }
      : null,
  };
}

export function encodeRestore(sessionId: string, runner: string, report: RestoreReport | undefined): WireRestore {
  const identity = { session_id: sessionId, runner };
  if (!report) return { ...identity, after_run: null, variables: [], failed: [], skipped: [], problem: null };
  const { snapshot, failed, problem } = report;
  return {
    ...{ ...identity, after_run: snapshot.run, variables: restoredNames(report) },
    ...{ failed: failed.map(encodeMissing), skipped: snapshot.skipped.map(encodeMissing) },
    problem: problem ? encodeError({ code: problem.code, message: problem.message, hint: problem.hint }).error : null,
  };
}

/** The names of the restored variables. */
export function restoredNames({ snapshot, failed, problem }: RestoreReport): string[] {
  if (problem) return [];
  const missing = new Set(failed.map(({ name }) => name));
  return snapshot.saved.filter((name) => !missing.has(name));
}

function encodeMissing({ name, reason }: z.output<typeof missingSchema>): z.output<typeof missingSchema> {
  return { name, reason };
}
