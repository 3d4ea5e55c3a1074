import { CodecellError } from "../../lib/errors.ts";

export interface SnapshotManifest {
  readonly saved: string[];
  readonly skipped: { name: string; reason: string }[];
}

const prefixBytes = 12;
const maxHeaderBytes = 64 * 1024;
const maxNames = 5000;

/**
 * The names in a snapshot and what was left out of it, from the headers of its entries. The values are never touched.
 * The bytes come from a cell and are checked like everything from there.
 */
export function readManifest(data: Buffer): SnapshotManifest {
  const manifest: SnapshotManifest = { saved: [], skipped: [] };
  for (let at = 0; at < data.length; ) {
    if (data.length - at < prefixBytes) throw torn();
    const headerLength = data.readUInt32LE(at);
    const bodyLength = data.readBigUInt64LE(at + 4);
    at += prefixBytes;
    if (headerLength > maxHeaderBytes || BigInt(data.length - at) < BigInt(headerLength) + bodyLength) throw torn();
    note(manifest, data.toString("utf8", at, at + headerLength));
    at += headerLength + Number(bodyLength);
  }
  return manifest;
}

function note(manifest: SnapshotManifest, text: string): void {
  let header: unknown;
  try {
    header = JSON.parse(text);
  } catch {
    throw torn();
  }
  const { name, skipped } = (typeof header === "object" && header !== null ? header : {}) as Record<string, unknown>;
  if (typeof name !== "string") throw torn();
  if (manifest.saved.length + manifest.skipped.length >= maxNames) return;
  if (typeof skipped === "string") manifest.skipped.push({ name: name.slice(0, 200), reason: skipped.slice(0, 300) });
  else manifest.saved.push(name.slice(0, 200));
}

function torn(): CodecellError {
  return new CodecellError("snapshot_damaged", "the cell sent a snapshot that cannot be read");
}
