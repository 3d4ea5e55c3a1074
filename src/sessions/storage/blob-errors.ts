import { CodecellError } from "../../lib/errors.ts";
import { formatSize } from "../../policy/format-units.ts";

/** Whether a text can be the name of a blob. Names become file names and keys, so nothing else is looked up. */
export function isSha256(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

export function blobTooLarge(maxBytes: number): CodecellError {
  return new CodecellError("too_large", `it is larger than ${formatSize(maxBytes)}`);
}

export function blobMissing(sha256: string): CodecellError {
  return new CodecellError("file_missing", `the stored bytes ${sha256.slice(0, 12)} no longer exist`);
}

export function blobDamaged(sha256: string): CodecellError {
  return new CodecellError("snapshot_damaged", `the stored bytes ${sha256.slice(0, 12)} are damaged`);
}
