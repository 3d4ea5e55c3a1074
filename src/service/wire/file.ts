import { z } from "zod";
import type { FileFacts, FileList } from "../../artifacts/workspace-file.ts";
import { downloadUrlField } from "./artifact.ts";
import { encodeFileTime, timestamp } from "./timestamp.ts";

export const fileSchema = z.strictObject({
  name: z.string().describe("path below the working directory"),
  size: z.int().describe("bytes"),
  modified_at: timestamp.nullable().describe("as reported by the file system; null: outside the range of dates"),
  download_url: downloadUrlField,
});
export type WireFile = z.output<typeof fileSchema>;

export const fileListSchema = z.strictObject({
  files: z.array(fileSchema).describe("ordered by name"),
  next: z.string().nullable().describe("pass it as `after` to get the next page; null: this is the last page"),
  left_out: z.int().describe("number of entries that are not listed: links, special files, denied names"),
  truncated: z.boolean().describe("there are more entries or deeper directories than codecell lists"),
});
export type WireFileList = z.output<typeof fileListSchema>;

export function encodeFile({ path, size, modifiedMs }: FileFacts, downloadUrl?: string): WireFile {
  const link = downloadUrl === undefined ? {} : { download_url: downloadUrl };
  return { name: path, size, modified_at: encodeFileTime(modifiedMs), ...link };
}

/** `links`: download links by path, for the files that have one. */
export function encodeFileList(
  { files, next, leftOut, truncated }: FileList,
  links?: ReadonlyMap<string, string | undefined>,
): WireFileList {
  const listed = files.map((file) => encodeFile(file, links?.get(file.path)));
  return { files: listed, next: next ?? null, left_out: leftOut, truncated };
}
