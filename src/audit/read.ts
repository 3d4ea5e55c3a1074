import { type ChainLine, openLine } from "./chain/chain.ts";
import { filePath, listChains, listFiles } from "./chain/chain-files.ts";
import { parsedEvent } from "./event-text.ts";
import { readLines } from "./read-lines.ts";

/** One recorded event. Types of a later version are returned as they are. */
export interface AuditEntry {
  readonly chain: string;
  readonly seq: number;
  readonly time: string;
  readonly event: Readonly<Record<string, unknown>> & { readonly type: string };
}

/** A filter for entries; absent fields match everything. */
export interface AuditFilter {
  readonly session?: string | undefined;
  /** prefix of session ids; events without a session do not match */
  readonly sessionPrefix?: string | undefined;
  readonly run?: number | undefined;
  /** `run.ended`, or `run` for all types with that prefix */
  readonly types?: readonly string[] | undefined;
  /** events with one of these as their `status`: how a run or a call ended */
  readonly outcomes?: readonly string[] | undefined;
  /** milliseconds, inclusive */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
}

/** All matching entries, in order of time across all chains. Damaged lines are skipped: `verify` reports them. */
export async function* readAudit(dir: string, filter: AuditFilter = {}): AsyncGenerator<AuditEntry, void, void> {
  const chains = (await listChains(dir)).map((chain) => entriesOf(dir, chain, filter));
  const next = new Map<AsyncGenerator<AuditEntry>, AuditEntry>();
  const advance = async (chain: AsyncGenerator<AuditEntry>) => {
    const { value, done } = await chain.next();
    if (done) next.delete(chain);
    else next.set(chain, value);
  };
  try {
    for (const chain of chains) await advance(chain);
    while (next.size > 0) {
      const [chain, entry] = [...next].reduce((first, one) => (one[1].time < first[1].time ? one : first));
      yield entry;
      await advance(chain);
    }
  } finally {
    for (const chain of chains) await chain.return(undefined);
  }
}

/** How far back `lastEntries` reads. */
export interface LastLimits {
  /** newest files of each chain */
  readonly maxFiles?: number;
  /** total size of the entries' lines; the last one is always returned */
  readonly maxBytes?: number;
}

interface LastEntry {
  readonly entry: AuditEntry;
  readonly bytes: number;
  /** its position in order of time */
  readonly key: string;
}

/** The last matching entries. Reads only the newest files, as far back as needed. */
export async function lastEntries(
  dir: string,
  count: number,
  filter: AuditFilter = {},
  { maxFiles = Number.POSITIVE_INFINITY, maxBytes = Number.POSITIVE_INFINITY }: LastLimits = {},
): Promise<AuditEntry[]> {
  const found: LastEntry[] = [];
  for (const chain of await listChains(dir)) {
    let ofChain: LastEntry[] = [];
    for (const number of (await listFiles(dir, chain)).reverse().slice(0, maxFiles)) {
      const inFile: LastEntry[] = [];
      let at = 0;
      let bytes = 0;
      for await (const { entry, end } of entriesIn(dir, chain, number, filter)) {
        if (entry) {
          inFile.push({ entry, bytes: end - at, key: entry.time });
          bytes += end - at;
        }
        at = end;
        if (inFile.length <= 2 * count && bytes <= 2 * maxBytes) continue;
        inFile.splice(0, inFile.length, ...newest(inFile, count, maxBytes));
        bytes = inFile.reduce((sum, one) => sum + one.bytes, 0);
      }
      const all = [...inFile, ...ofChain];
      ofChain = newest(all, count, maxBytes);
      if (ofChain.length >= count || ofChain.length < all.length) break;
    }
    // A clock may be set back, but the order of a chain's lines is kept.
    let key = "";
    for (const one of ofChain) {
      key = one.key > key ? one.key : key;
      found.push({ ...one, key });
    }
  }
  const sorted = found.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return newest(sorted, count, maxBytes).map(({ entry }) => entry);
}

/** As many from the end as fit. */
function newest(entries: readonly LastEntry[], count: number, maxBytes: number): LastEntry[] {
  let from = entries.length;
  for (let bytes = 0; from > 0 && entries.length - from < count; from--) {
    bytes += entries[from - 1]?.bytes ?? 0;
    if (bytes > maxBytes && from < entries.length) break;
  }
  return entries.slice(from);
}

async function* entriesOf(dir: string, chain: string, filter: AuditFilter): AsyncGenerator<AuditEntry, void, void> {
  for (const number of await listFiles(dir, chain)) {
    for await (const { entry } of entriesIn(dir, chain, number, filter)) if (entry) yield entry;
  }
}

/**
 * The complete lines of a file from an offset on, each with its entry if it matches and the offset after it. None if the file
 * is gone: the policy may remove it after the directory was listed.
 */
export async function* entriesIn(
  dir: string,
  chain: string,
  number: number,
  filter: AuditFilter,
  start = 0,
): AsyncGenerator<{ readonly entry: AuditEntry | undefined; readonly end: number }, void, void> {
  let end = start;
  try {
    for await (const { bytes, isTooLong, isEnded } of readLines(filePath(dir, chain, number), start)) {
      if (!isEnded) return;
      end += bytes.length + 1;
      const line = isTooLong ? undefined : openLine(bytes);
      const entry = line && !("problem" in line) ? entryOf(chain, line) : undefined;
      yield { entry: entry && fits(entry, filter) ? entry : undefined, end };
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

function entryOf(chain: string, { seq, time, event }: ChainLine): AuditEntry | undefined {
  const parsed = parsedEvent(event) as AuditEntry["event"] | undefined;
  return typeof parsed?.type === "string" ? { chain, seq, time, event: parsed } : undefined;
}

function fits({ time, event }: AuditEntry, filter: AuditFilter): boolean {
  const { session, sessionPrefix, run, types, outcomes, sinceMs, untilMs } = filter;
  if (session !== undefined && event.session !== session) return false;
  if (sessionPrefix !== undefined && !String(event.session ?? "").startsWith(sessionPrefix)) return false;
  if (run !== undefined && event.run !== run) return false;
  if (types !== undefined && !types.some((type) => event.type === type || event.type.startsWith(`${type}.`)))
    return false;
  if (outcomes !== undefined && !outcomes.some((outcome) => outcome === event.status)) return false;
  const atMs = Date.parse(time);
  return !(sinceMs !== undefined && atMs < sinceMs) && !(untilMs !== undefined && atMs > untilMs);
}
