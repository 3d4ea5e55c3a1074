import { type JsonLimits, parseJson } from "../../lib/parse-json.ts";
import { snapshotEntries, tornSnapshot } from "./snapshot-entries.ts";

export interface SnapshotManifest {
  readonly saved: string[];
  readonly skipped: { name: string; reason: string }[];
}

/** The list has no more names. The rest of the snapshot is not looked at: the cell that restores it checks it again. */
const maxNames = 5000;
const headerLimits: JsonLimits = { depth: 4, keys: 16, values: 64, containers: 16 };

/**
 * The names in a snapshot and what was left out of it, from the headers of its entries. The values are never touched.
 * The bytes come from a cell: limits are checked before parsing. The attack: nested headers stop the host for many seconds.
 */
export function readManifest(data: Buffer): SnapshotManifest {
  const manifest: SnapshotManifest = { saved: [], skipped: [] };
  for (const { header } of snapshotEntries(data, maxNames)) note(manifest, header);
  return manifest;
}

/** The name of the variable in the header of an entry. */
export function entryName(header: string): string {
  const { saved, skipped } = { saved: [], skipped: [] } as SnapshotManifest;
  note({ saved, skipped }, header);
  return saved[0] ?? skipped[0]?.name ?? "";
}

function note(manifest: SnapshotManifest, text: string): void {
  let header: unknown;
  try {
    header = parseJson(text, headerLimits);
  } catch {
    throw tornSnapshot();
  }
  const { name, skipped } = (typeof header === "object" && header !== null ? header : {}) as Record<string, unknown>;
  if (typeof name !== "string") throw tornSnapshot();
  if (typeof skipped === "string") manifest.skipped.push({ name: name.slice(0, 200), reason: skipped.slice(0, 300) });
  else manifest.saved.push(name.slice(0, 200));
}
