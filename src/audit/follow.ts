import { stat } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { filePath, listChains, listFiles } from "./chain-files.ts";
import { type AuditEntry, type AuditFilter, entriesIn } from "./read.ts";

const lookEveryMs = 250;

export interface AuditPlace {
  readonly file: number;
  /** where the next line begins */
  readonly at: number;
}

/** Where each chain ends now. */
export async function auditPlaces(dir: string): Promise<Map<string, AuditPlace>> {
  const places = new Map<string, AuditPlace>();
  for (const chain of await listChains(dir)) places.set(chain, await endOf(dir, chain));
  return places;
}

/** Entries that are written behind these places, until the signal. It looks again and again: file watching is not everywhere. */
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
          if (signal.aborted) return; // whoever left does not have years of audit read for them
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
