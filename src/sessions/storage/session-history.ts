import { appendFile, open, readFile, rename, stat } from "node:fs/promises";
import { z } from "zod";
import type { RunError, RunEvent } from "../runs/run.ts";

const count = z.int().min(0);

const historySchema = z.object({
  run: count,
  atMs: count,
  language: z.string(),
  code: z.string(),
  status: z.string(),
  durationMs: z.number(),
  /** it printed, displayed and returned nothing */
  isSilent: z.literal(true).optional(),
  /** what it used; absent: an older version of codecell wrote this entry */
  usage: z
    .object({
      ...{ cpuMs: z.number().min(0).optional(), peakMemoryBytes: count.optional() },
      ...{ sentBytes: count, receivedBytes: count },
    })
    .optional()
    .catch(undefined), // the cell measures some of it: a wrong number must not hide the run
});

/** One run of a session, as its history keeps it. */
export type HistoryEntry = Readonly<z.output<typeof historySchema>> & {
  /** absent: they were not asked for, or are no longer kept. Everything in them is untrusted. */
  readonly outputs?: {
    /** what it printed and displayed, in order */
    readonly events: readonly RunEvent[];
    /** repr of the last expression's value */
    readonly value: string | undefined;
    readonly error: RunError | undefined;
    /** how much is missing here that the run's result had, in bytes */
    readonly leftOutBytes: number;
  };
};

/** What to read of a session's history: how many of the latest runs (default: 100), and whether with their outputs. */
export type HistoryOptions = { readonly limit?: number; readonly outputs?: boolean };

/** A session may live for years, and the code of a run may have megabytes. Two files of this size are kept. */
const maxFileBytes = 16 * 1024 * 1024;
const tailBytes = 64 * 1024;

/** Adds an entry. It starts with a line break, so that an incomplete entry before it does not damage it. */
export async function appendHistory(path: string, entry: HistoryEntry, maxBytes = maxFileBytes): Promise<void> {
  await appendFile(path, `\n${JSON.stringify(entry)}`, { mode: 0o600 });
  if ((await stat(path)).size > maxBytes) await rename(path, olderPath(path));
}

/** The latest entries, oldest first; unreadable ones are skipped. */
export async function readHistory(path: string, limit: number): Promise<HistoryEntry[]> {
  const lines: string[] = [];
  for (const file of [path, olderPath(path)]) {
    const older = (await readFile(file, "utf8").catch(() => "")).split("\n").filter((line) => line !== "");
    lines.unshift(...older.slice(-limit));
    if (lines.length >= limit) break;
  }
  return lines.flatMap(parsedEntry).slice(-limit);
}

/** The highest run number at the end of the history, also of an entry that a full disk or a crash left incomplete; 0: there is none. */
export async function lastRunIn(path: string): Promise<number> {
  for (const file of [path, olderPath(path)]) {
    const last = await lastRunOf(file).catch(() => 0);
    if (last > 0) return last;
  }
  return 0;
}

/** Reads from the end: the code of a run may have megabytes, and its number stands at the beginning of its line. */
async function lastRunOf(path: string): Promise<number> {
  await using file = await open(path);
  const { size } = await file.stat();
  for (let bytes = Math.min(size, tailBytes); ; bytes = Math.min(size, bytes * 8)) {
    const tail = Buffer.alloc(bytes);
    const { bytesRead } = await file.read(tail, 0, bytes, size - bytes);
    const lines = tail.toString("latin1", 0, bytesRead).matchAll(/\n\{"run":(\d{1,15}),/g);
    let last = 0;
    for (const [, run] of lines) last = Math.max(last, Number(run));
    if (last > 0 || bytes === size) return last;
  }
}

function olderPath(path: string): string {
  return `${path}.older`;
}

/** The entry in a text of JSON; none if it cannot be read. */
export function parsedEntry(line: string): HistoryEntry[] {
  try {
    return [historySchema.parse(JSON.parse(line))];
  } catch {
    return [];
  }
}
