import { listChains, listFiles } from "./chain/chain-files.ts";
import type { AuditPlace } from "./follow.ts";
import { type AuditEntry, type AuditFilter, entriesIn } from "./read.ts";

/** The position of a reader in each chain. A chain that is absent is read from its beginning. */
export type AuditPlaces = ReadonlyMap<string, AuditPlace>;

export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** start of the next page */
  readonly places: AuditPlaces;
  /** there are no more entries yet */
  readonly isEnd: boolean;
}

export interface PageLimits {
  readonly entries: number;
  /** most bytes to read: a filter without matches must not read years of audit in one call */
  readonly bytes: number;
}

interface Found {
  readonly entry: AuditEntry;
  /** position after it */
  readonly place: AuditPlace;
}

/** The next matching entries, in order of time across all chains. An empty page is not always the last one. */
export async function auditPage(
  dir: string,
  from: AuditPlaces,
  filter: AuditFilter,
  limits: PageLimits,
): Promise<AuditPage> {
  const budget = { bytes: limits.bytes, isSpent: false };
  const names = await listChains(dir);
  const places = new Map(names.flatMap((chain) => [[chain, from.get(chain) ?? { file: 1, at: 0 }] as const]));
  const readers = new Map(names.map((chain) => [chain, fitting(dir, chain, places, filter, budget)]));
  const next = new Map<string, Found>();
  const advance = async (chain: string) => {
    const found = await readers.get(chain)?.next();
    if (found?.value) next.set(chain, found.value);
    else next.delete(chain);
  };
  const entries: AuditEntry[] = [];
  try {
    for (const chain of names) await advance(chain);
    // A chain whose next entry was not reached may have an earlier one than all that were found in the others.
    while (entries.length < limits.entries && next.size > 0 && !budget.isSpent) {
      const [chain, { entry, place }] = [...next].reduce((a, b) => (b[1].entry.time < a[1].entry.time ? b : a));
      entries.push(entry);
      places.set(chain, place);
      await advance(chain);
    }
  } finally {
    for (const reader of readers.values()) await reader.return(undefined);
  }
  return { entries, places, isEnd: next.size === 0 && !budget.isSpent };
}

/** Matching entries of one chain. Others are skipped for good, unless an earlier match is not taken yet. */
async function* fitting(
  dir: string,
  chain: string,
  places: Map<string, AuditPlace>,
  filter: AuditFilter,
  budget: { bytes: number; isSpent: boolean },
): AsyncGenerator<Found, void, void> {
  let { file, at } = places.get(chain) ?? { file: 1, at: 0 };
  for (const number of (await listFiles(dir, chain)).filter((one) => one >= file)) {
    if (number > file) [file, at] = [number, 0];
    for await (const { entry, end } of entriesIn(dir, chain, number, filter, at)) {
      budget.bytes -= end - at;
      at = end;
      if (entry) yield { entry, place: { file, at } };
      else places.set(chain, { file, at });
      if (budget.bytes > 0) continue;
      budget.isSpent = true;
      return;
    }
  }
}
