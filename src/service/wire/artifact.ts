import { z } from "zod";
import type { Artifact, LeftOut } from "../../artifacts/artifact.ts";
import { encodeFileTime, timestamp } from "./timestamp.ts";

/** Creates a link to one version of a file. Anybody with the link can download it. */
export type DownloadUrl = (artifact: { readonly name: string; readonly sha256: string }) => string;

export const downloadUrlField = z
  .string()
  .optional()
  .describe("signed link to this content, which expires; absent if no service serves the session's files");

export const artifactSchema = z.strictObject({
  name: z.string().describe("path below the working directory"),
  size: z.int().describe("bytes"),
  mime_type: z.string().describe("guessed from the name and the first bytes"),
  sha256: z.string().describe("of the content, in hex"),
  modified_at: timestamp.nullable().describe("as reported by the file system; null: outside the range of dates"),
  download_url: downloadUrlField,
});
/** An artifact in the wire format. */
export type WireArtifact = z.output<typeof artifactSchema>;

export const leftOutSchema = z.strictObject({
  name: z.string().describe("path below the working directory, without control characters"),
  reason: z.string().describe("to branch on"),
  message: z.string(),
});

/** A file that a run created or changed. */
export function encodeArtifact(
  { name, size, mimeType, sha256, modifiedMs }: Artifact,
  downloadUrl?: DownloadUrl,
): WireArtifact {
  const link = downloadUrl ? { download_url: downloadUrl({ name, sha256 }) } : {};
  return { name, size, mime_type: mimeType, sha256, modified_at: encodeFileTime(modifiedMs), ...link };
}

export function encodeLeftOut({ name, reason, message }: LeftOut): z.output<typeof leftOutSchema> {
  return { name, reason, message };
}
