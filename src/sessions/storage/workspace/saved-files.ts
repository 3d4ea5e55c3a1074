import { z } from "zod";

const count = z.int().min(0);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** Files of one session that are saved: more would make each save and each restore take minutes. */
export const maxSavedFiles = 10_000;
/** Names of files that were not saved, which the record keeps. */
export const maxNamedFiles = 20;

/** The files of a save, for sessions whose files no directory of the host holds. */
export const savedFilesSchema = z.object({
  /** of the list of files, which is stored like a file */
  sha256,
  count,
  /** of all files together */
  bytes: count,
  /** files that could not be saved, and why: the first 20 of `skippedCount` */
  skipped: z.array(z.object({ name: z.string(), reason: z.string() })).max(maxNamedFiles),
  skippedCount: count,
});
export type SavedFiles = z.output<typeof savedFilesSchema>;

const entrySchema = z.object({ path: z.string().max(1024), size: count, sha256 });
/** One saved file. */
export type SavedFile = z.output<typeof entrySchema>;

export const savedFileList = z.array(entrySchema).max(2 * maxSavedFiles);
