import { type JsonLimits, parseJson } from "../../lib/json/parse-json.ts";
import { snapshotEntries, tornSnapshot } from "./snapshot-entries.ts";

export interface SnapshotManifest {
  readonly saved: string[];
  readonly skipped: { name: string; reason: string }[];
}

/** The list has no more names. The rest of the snapshot is not looked at: the cell that restores it checks it again. */
const maxNames = 5000;
/** Half of what a record may have, as JSON. The attack: names and reasons so long that the session could never be saved or opened again. */
const maxNameBytes = 2 * 1024 * 1024;
const headerLimits: JsonLimits = { depth: 4, keys: 16, values: 64, containers: 16 };

/**
 * The names in a snapshot and what was left out of it, from the headers of its entries. The values are never touched.
 * The bytes come from a cell: limits are checked before parsing. The attack: nested headers stop the host for many seconds.
 */
export function readManifest(data: Buffer): SnapshotManifest {
  const manifest: SnapshotManifest = { saved: [], skipped: [] };
  let bytes = 0;
  for (const { header } of snapshotEntries(data, maxNames)) {
    bytes += note(manifest, header);
    if (bytes > maxNameBytes) break;
  }
  return manifest;
}

/** The name of the variable in the header of an entry. */
export function entryName(header: string): string {
  const { saved, skipped } = { saved: [], skipped: [] } as SnapshotManifest;
  note({ saved, skipped }, header);
  return saved[0] ?? skipped[0]?.name ?? "";
}

/** Returns how many bytes it takes in a record. */
function note(manifest: SnapshotManifest, text: string): number {
  let header: unknown;
  try {
    header = parseJson(text, headerLimits);
  } catch {
    throw tornSnapshot();
  }
  const { name, skipped } = (typeof header === "object" && header !== null ? header : {}) as Record<string, unknown>;
  if (typeof name !== "string") throw tornSnapshot();
  const shown = name.slice(0, 200);
  if (typeof skipped !== "string") {
    manifest.saved.push(shown);
    return jsonBytes(shown);
  }
  const entry = { name: shown, reason: skipped.slice(0, 300) };
  manifest.skipped.push(entry);
  return jsonBytes(entry);
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
