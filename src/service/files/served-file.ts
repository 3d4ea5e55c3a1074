import type { BlockDigests } from "../../artifacts/block-digests.ts";
import { type Digest, digestFile, type HashCache } from "../../artifacts/hash-cache.ts";
import { mimeHeadBytes, mimeTypeOf } from "../../artifacts/mime.ts";
import type { OpenFile } from "../../artifacts/regular-file.ts";
import type { WorkspaceFiles } from "../../artifacts/workspace-files.ts";
import { CodecellError } from "../../lib/errors.ts";

export { type BlockDigests, BlockHasher } from "../../artifacts/block-digests.ts";
export { HashCache } from "../../artifacts/hash-cache.ts";
export { isActiveType } from "../../artifacts/mime.ts";
export type { WorkspaceFiles } from "../../artifacts/workspace-files.ts";

/** An open file with its digest and type. The caller disposes `file`. */
export interface ServedFile {
  readonly file: OpenFile;
  readonly sha256: string;
  readonly mimeType: string;
  /** only if requested */
  readonly blocks?: BlockDigests | undefined;
}

export interface ServeOptions {
  readonly digests: HashCache;
  readonly signal: AbortSignal;
  /** whether a part of the file is going to be verified */
  readonly needsBlocks?: boolean;
}

/**
 * Opens a file once, so that digest, type and content belong to the same file even if a program renames it. Hashing stops at the
 * signal. The attack: a client requests a sparse file of a terabyte, leaves, and the service goes on reading.
 */
export async function openServedFile(files: WorkspaceFiles, name: string, options: ServeOptions): Promise<ServedFile> {
  const file = await files.open(name);
  try {
    const { sha256, head, blocks } = await digestOf(file, options);
    return { file, sha256, mimeType: mimeTypeOf(name, head), blocks };
  } catch (error) {
    await file[Symbol.asyncDispose]();
    throw error;
  }
}

async function digestOf(file: OpenFile, { digests, signal, needsBlocks = false }: ServeOptions): Promise<Digest> {
  const known = digests.get(file);
  if (known && (known.blocks || !needsBlocks)) return known;
  const digest = await digestFile(file, mimeHeadBytes, signal, { withBlocks: needsBlocks });
  if (!digest)
    throw new CodecellError("file_refused", "the file changed while it was being read", { hint: "try again" });
  digests.set(file, digest);
  return digest;
}
