import { type Digest, digestFile, type HashCache } from "../../artifacts/hash-cache.ts";
import { mimeHeadBytes, mimeTypeOf } from "../../artifacts/mime.ts";
import type { OpenFile } from "../../artifacts/regular-file.ts";
import type { WorkspaceFiles } from "../../artifacts/workspace-files.ts";
import { CodecellError } from "../../lib/errors.ts";

export { HashCache } from "../../artifacts/hash-cache.ts";
export { isActiveType } from "../../artifacts/mime.ts";
export type { WorkspaceFiles } from "../../artifacts/workspace-files.ts";

/** An open file with its digest and type. The caller disposes `file`. */
export interface ServedFile {
  readonly file: OpenFile;
  readonly sha256: string;
  readonly mimeType: string;
}

/**
 * Opens a file once, so that digest, type and content belong to the same file even if a program renames it. Hashing stops at the
 * signal. The attack: a client requests a sparse file of a terabyte, leaves, and the service goes on reading.
 */
export async function openServedFile(
  files: WorkspaceFiles,
  name: string,
  { digests, signal }: { readonly digests: HashCache; readonly signal: AbortSignal },
): Promise<ServedFile> {
  const file = await files.open(name);
  try {
    const { sha256, head } = await digestOf(file, digests, signal);
    return { file, sha256, mimeType: mimeTypeOf(name, head) };
  } catch (error) {
    await file[Symbol.asyncDispose]();
    throw error;
  }
}

async function digestOf(file: OpenFile, digests: HashCache, signal: AbortSignal): Promise<Digest> {
  const known = digests.get(file);
  if (known) return known;
  const digest = await digestFile(file, mimeHeadBytes, signal);
  if (!digest)
    throw new CodecellError("file_refused", "the file changed while it was being read", { hint: "try again" });
  digests.set(file, digest);
  return digest;
}
