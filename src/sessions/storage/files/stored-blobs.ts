import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import { writeFileAtomically } from "../../../lib/files/atomic-file.ts";
import { syncDirectory } from "../../../lib/files/sync-directory.ts";
import { blobDamaged, blobMissing, blobTooLarge, isSha256 } from "../blob-errors.ts";
import type { StoredBytes } from "../session-storage.ts";

/** Writes a file that is named by the hash of its bytes. */
export async function writeStoredBlob(
  directory: string,
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<StoredBytes> {
  const hash = createHash("sha256");
  let bytes = 0;
  const counted = async function* () {
    for await (const piece of source) {
      bytes += piece.byteLength;
      if (bytes > maxBytes) throw blobTooLarge(maxBytes);
      hash.update(piece);
      yield piece;
    }
  };
  const incoming = join(directory, `incoming-${randomBytes(6).toString("hex")}`);
  try {
    await writeFileAtomically(incoming, counted());
    const sha256 = hash.digest("hex");
    await rename(incoming, join(directory, sha256));
    await syncDirectory(directory);
    return { sha256, bytes };
  } catch (error) {
    await rm(incoming, { force: true });
    throw error;
  }
}

export async function* readStoredBlob(directory: string, sha256: string, start = 0): AsyncGenerator<Uint8Array> {
  if (!isSha256(sha256)) throw new CodecellError("internal", "the name of a blob is its sha256");
  const hash = createHash("sha256");
  try {
    for await (const piece of createReadStream(join(directory, sha256), { start, highWaterMark: 1024 * 1024 })) {
      hash.update(piece as Uint8Array);
      yield piece as Uint8Array;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") throw blobMissing(sha256);
    throw error;
  }
  if (start === 0 && hash.digest("hex") !== sha256) throw blobDamaged(sha256);
}

export async function pruneStoredBlobs(directory: string, kept: ReadonlySet<string>): Promise<void> {
  const names = await readdir(directory).catch(() => []);
  // Incoming ones too: the holder of the session writes one set of files at a time.
  const old = names.filter((name) => !kept.has(name));
  await Promise.all(old.map((name) => rm(join(directory, name), { force: true })));
}
