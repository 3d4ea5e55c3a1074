import { type ChainLine, openLine } from "./chain.ts";
import { filePath, listChains, listFiles } from "./chain-files.ts";
import { parsedEvent } from "./event-text.ts";
import { readLines } from "./read-lines.ts";

/** One event as it was written down. Kinds of a later version are kept as they are. */
export interface AuditEntry {
  readonly chain: string;
  readonly seq: number;
  readonly time: string;
  readonly event: Readonly<Record<string, unknown>> & { readonly type: string };
}

/** Which entries are wanted; what is absent is not asked for. */
export interface AuditFilter {
  readonly session?: string | undefined;
  /** only events of sessions whose ids begin so; what belongs to no session does not fit */
  readonly sessionPrefix?: string | undefined;
  readonly run?: number | undefined;
  /** `run.ended`, or `run` for every kind that begins so */
  readonly types?: readonly string[] | undefined;
  /** events that have one of these as their `status`: how a run or a call ended */
  readonly outcomes?: readonly string[] | undefined;
  /** milliseconds, both included */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
}

/** Every entry that fits, in the order of time over all chains. What is damaged is left out: `verify` tells of it. */
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

/** How far back `lastEntries` looks. */
export interface LastLimits {
  /** newest files of each chain */
  readonly maxFiles?: number;
  /** what the lines of the entries take together; the last one comes whatever it takes */
  readonly maxBytes?: number;
}

interface LastEntry {
  readonly entry: AuditEntry;
  readonly bytes: number;
  /** its place in the order of time */
  readonly key: string;
}

/** The last entries that fit. Reads the newest files only, as far back as it has to. */
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
    // A clock may be set back; the order of a chain's lines stays.
    let key = "";
    for (const one of ofChain) {
      key = one.key > key ? one.key : key;
      found.push({ ...one, key });
    }
  }
  const sorted = found.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return newest(sorted, count, maxBytes).map(({ entry }) => entry);
}

/** As many from the end as there is room for. */
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
 * The whole lines of a file from a byte on, each with the entry if it fits and the byte behind it. None of a file that is gone:
 * the policy may remove one between the look at the directory and this.
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
