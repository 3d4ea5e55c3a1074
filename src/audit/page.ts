import { listChains, listFiles } from "./chain-files.ts";
import type { AuditPlace } from "./follow.ts";
import { type AuditEntry, type AuditFilter, entriesIn } from "./read.ts";

/** Where a reader is: in each chain that it knows of. A chain that is not in it is read from its beginning. */
export type AuditPlaces = ReadonlyMap<string, AuditPlace>;

export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** where the next page begins */
  readonly places: AuditPlaces;
  /** nothing more is written; later there may be */
  readonly isEnd: boolean;
}

export interface PageLimits {
  readonly entries: number;
  /** what is read at most: a filter that nothing fits must not read years of audit in one go */
  readonly bytes: number;
}

interface Found {
  readonly entry: AuditEntry;
  /** behind it */
  readonly place: AuditPlace;
}

/** The next entries that fit, in the order of time over all chains. A page may be empty and yet not the last one. */
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
    // What a chain that was not read to its next entry has may come before everything that is found in the others.
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

/** Entries of one chain that fit. What does not is passed over for good, as long as nothing before it waits to be taken. */
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
