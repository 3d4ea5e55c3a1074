import { CodecellError } from "../../lib/errors.ts";
import { type JsonLimits, parseJson } from "../../lib/parse-json.ts";

export interface SnapshotManifest {
  readonly saved: string[];
  readonly skipped: { name: string; reason: string }[];
}

const prefixBytes = 12;
const maxHeaderBytes = 64 * 1024;
/** The list has no more names. The rest of the snapshot is not looked at: the cell that restores it checks it again. */
const maxNames = 5000;
const maxHeaderBytesInAll = 8 * 1024 * 1024;
const headerLimits: JsonLimits = { depth: 4, keys: 16, values: 64, containers: 16 };

/**
 * The names in a snapshot and what was left out of it, from the headers of its entries. The values are never touched.
 * The bytes come from a cell: limits are checked before parsing. The attack: a snapshot of ten million empty variables, or of
 * nested headers, stops the host for many seconds.
 */
export function readManifest(data: Buffer): SnapshotManifest {
  const manifest: SnapshotManifest = { saved: [], skipped: [] };
  let headerBytes = 0;
  for (let at = 0, names = 0; at < data.length && names < maxNames; names++) {
    if (data.length - at < prefixBytes) throw torn();
    const headerLength = data.readUInt32LE(at);
    const bodyLength = data.readBigUInt64LE(at + 4);
    at += prefixBytes;
    if (headerLength > maxHeaderBytes || BigInt(data.length - at) < BigInt(headerLength) + bodyLength) throw torn();
    headerBytes += headerLength;
    if (headerBytes > maxHeaderBytesInAll) throw torn();
    note(manifest, data.toString("utf8", at, at + headerLength));
    at += headerLength + Number(bodyLength);
  }
  return manifest;
}

function note(manifest: SnapshotManifest, text: string): void {
  let header: unknown;
  try {
    header = parseJson(text, headerLimits);
  } catch {
    throw torn();
  }
  const { name, skipped } = (typeof header === "object" && header !== null ? header : {}) as Record<string, unknown>;
  if (typeof name !== "string") throw torn();
  if (typeof skipped === "string") manifest.skipped.push({ name: name.slice(0, 200), reason: skipped.slice(0, 300) });
  else manifest.saved.push(name.slice(0, 200));
}

function torn(): CodecellError {
  return new CodecellError("snapshot_damaged", "the cell sent a snapshot that cannot be read");
}
