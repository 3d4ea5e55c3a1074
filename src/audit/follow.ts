import { stat } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { filePath, listChains, listFiles } from "./chain/chain-files.ts";
import { type AuditEntry, type AuditFilter, entriesIn } from "./read.ts";

const lookEveryMs = 250;

export interface AuditPlace {
  readonly file: number;
  /** offset of the next line */
  readonly at: number;
}

/** The current end of each chain. */
export async function auditPlaces(dir: string): Promise<Map<string, AuditPlace>> {
  const places = new Map<string, AuditPlace>();
  for (const chain of await listChains(dir)) places.set(chain, await endOf(dir, chain));
  return places;
}

/** Entries written after these positions, until the signal. Polls, because file watching does not work everywhere. */
export async function* followAudit(
  dir: string,
  from: ReadonlyMap<string, AuditPlace>,
  filter: AuditFilter,
  signal: AbortSignal,
): AsyncGenerator<AuditEntry, void, void> {
  const places = new Map(from);
  while (!signal.aborted) {
    for (const chain of await listChains(dir)) {
      let { file, at } = places.get(chain) ?? { file: 1, at: 0 };
      for (const number of (await listFiles(dir, chain)).filter((one) => one >= file)) {
        if (number > file) [file, at] = [number, 0];
        for await (const { entry, end } of entriesIn(dir, chain, number, filter, at)) {
          at = end;
          if (signal.aborted) return; // do not read years of audit for a caller that has left
          if (entry) yield entry;
        }
      }
      places.set(chain, { file, at });
    }
    await pause(lookEveryMs, undefined, { signal }).catch(() => {});
  }
}

async function endOf(dir: string, chain: string): Promise<AuditPlace> {
  const file = (await listFiles(dir, chain)).at(-1) ?? 1;
  const size = await stat(filePath(dir, chain, file)).then(
    (facts) => facts.size,
    () => 0,
  );
  return { file, at: size };
}
