import { z } from "zod";
import { CodecellError, messageOf } from "../../lib/errors.ts";
import { requestedRulesSchema } from "../../policy/change/live-rules.ts";
import { printable } from "../../policy/file/problem.ts";
import { lineageSchema } from "../lineage/lineage.ts";
import { savedFilesSchema } from "./workspace/saved-files.ts";

const count = z.int().min(0);

const snapshotSchema = z.object({
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: count,
  savedMs: count,
  /** the run before it */
  run: count,
  python: z.string(),
  runner: z.string(),
  saved: z.array(z.string()),
  skipped: z.array(z.object({ name: z.string(), reason: z.string() })),
  /** absent: a directory of the host holds the files */
  files: savedFilesSchema.optional(),
});

const recordSchema = z.object({
  version: z.literal(1),
  id: z.string(),
  /** name of its directory below `workspaces/` */
  workspace: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
  createdMs: count,
  usedMs: count,
  runs: count,
  /** written when its last cell ended in order: no run was under way, although changes of variables are not saved */
  isEnded: z.literal(true).optional(),
  /** rules that were requested for it while it was live */
  asked: requestedRulesSchema.optional(),
  snapshot: snapshotSchema.optional(),
  /** what its last cell lost and no result has reported yet */
  unreported: z.array(z.string().max(2000)).max(40).optional(),
  /** absent: nothing but runs happened. One that cannot be read must not cost the session. */
  lineage: lineageSchema.optional().catch(undefined),
});

/** What is kept of a session, besides its workspace. */
export type SessionRecord = z.output<typeof recordSchema>;
/** The last save of a session's variables: its time, size, and saved and skipped variables. */
export type SnapshotInfo = z.output<typeof snapshotSchema>;

/** The longest record, as text. */
export const maxRecordBytes = 4 * 1024 * 1024;

/** Checks what a store has under the id of a session. `read` returns it parsed, or throws if it is not JSON. */
export function checkedRecord(id: string, read: () => unknown): SessionRecord {
  try {
    const record = recordSchema.parse(read());
    // The attack: a copied or edited record opens the workspace and the history of another session, or of another tenant.
    if (record.id !== id) throw new Error(`it belongs to session ${JSON.stringify(printable(record.id))}`);
    return record;
  } catch (error) {
    throw new CodecellError("snapshot_damaged", `the record of session ${id} cannot be read: ${messageOf(error)}`, {
      hint: `its files are unchanged; delete the session with \`codecell sessions rm ${id}\``,
      cause: error,
    });
  }
}

/** The saved variables of a session cannot be used. */
export function damagedSnapshot(id: string, why: string, cause?: unknown): CodecellError {
  return new CodecellError("snapshot_damaged", `the saved variables of session ${id} are damaged: ${why}`, {
    hint: "its files are unchanged; the session starts without its variables",
    cause,
  });
}
