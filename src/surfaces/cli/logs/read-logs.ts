import { setTimeout as pause } from "node:timers/promises";
import { CodecellError } from "../../../lib/errors.ts";
import {
  type AuditFilter,
  auditPlaces,
  followAudit,
  lastEntries,
  readAudit,
} from "../../../service/audit/audit-files.ts";
import type { HistoryEntry } from "../../../sessions/storage/session-history.ts";
import type { StoredSessions } from "../../../sessions/storage/stored-sessions.ts";
import { type LoggedRun, RunCollector, runEventTypes, withHistory } from "./logged-run.ts";

/** The history is written after the end was recorded. */
const historyTries = 10;
const historyPauseMs = 50;
const maxHistory = 100_000;

export interface LogSource {
  readonly auditDir: string;
  readonly stored: StoredSessions;
  /** absent: every session */
  readonly session?: string | undefined;
  readonly sinceMs?: number | undefined;
  /** how many of the last runs; undefined: all */
  readonly tail: number | undefined;
}

/** The last runs, the oldest first. */
export async function readLogs(source: LogSource): Promise<LoggedRun[]> {
  const { session, tail, sinceMs = Number.NEGATIVE_INFINITY } = source;
  if (tail === 0) return [];
  const collector = new RunCollector();
  const filter = filterOf(source);
  if (tail === undefined) {
    for await (const entry of readAudit(source.auditDir, filter)) collector.add(entry);
  } else {
    // A run has two events, and other runs may start and end between them.
    for (const entry of await lastEntries(source.auditDir, tail * 2 + 64, filter)) collector.add(entry);
  }
  let runs = [...collector.runs];
  const wanted = new Set(tail === undefined ? runs : runs.slice(-tail));
  const sessions = session === undefined ? new Set([...wanted].map((run) => run.session)) : [session];
  for (const id of sessions) {
    const history = await historyOf(source.stored, id, tail ?? maxHistory);
    const known = session === undefined ? history.filter(({ run }) => hasRun(runs, id, run)) : history;
    runs = withHistory(runs, id, known);
  }
  const recent = runs.filter((run) => (run.end?.endedMs ?? run.startedMs) >= sinceMs);
  return tail === undefined ? recent : recent.slice(-tail);
}

/** What happens to a run from now on: it started, or it ended. */
export interface RunEvent {
  readonly kind: "started" | "ended";
  readonly run: LoggedRun;
}

/**
 * Runs that start or end after this call, until the signal. `known` are those that the caller has shown: their end is told,
 * their start is not.
 */
export async function* followLogs(
  source: LogSource,
  places: Awaited<ReturnType<typeof auditPlaces>>,
  known: readonly LoggedRun[],
  signal: AbortSignal,
): AsyncGenerator<RunEvent, void, void> {
  const collector = new RunCollector();
  const shown = new Set(known.map((run) => keyOf(run, run.startedMs)));
  const ended = new Set(known.flatMap((run) => (run.end ? [keyOf(run, run.end.endedMs)] : [])));
  const begun = new Map(known.filter(({ end }) => !end).map((run) => [`${run.session}#${run.run}`, run]));
  for await (const entry of followAudit(source.auditDir, places, filterOf(source), signal)) {
    const run = collector.add(entry);
    if (!run) continue;
    if (!run.end) {
      if (!shown.has(keyOf(run, run.startedMs))) yield { kind: "started", run };
      continue;
    }
    if (ended.has(keyOf(run, run.end.endedMs))) continue;
    const before = begun.get(`${run.session}#${run.run}`);
    const whole = run.language === "" && before ? { ...before, end: run.end } : run;
    yield { kind: "ended", run: await withLateHistory(source.stored, whole) };
  }
}

/** Where `followLogs` continues. Read it before `readLogs`: what happens in between is then told, and told once. */
export { auditPlaces as logPlaces };

async function withLateHistory(stored: StoredSessions, run: LoggedRun): Promise<LoggedRun> {
  for (let attempt = 0; attempt < historyTries; attempt++) {
    const history = await historyOf(stored, run.session, 20);
    if (history.length === 0) return run; // the session keeps none
    const [merged] = withHistory(
      [run],
      run.session,
      history.filter((entry) => entry.run === run.run),
    ).slice(-1);
    if (merged?.end && history.some((entry) => entry.run === run.run)) return { ...merged, end: run.end ?? merged.end };
    await pause(historyPauseMs);
  }
  return run;
}

function filterOf({ session, sinceMs }: LogSource): AuditFilter {
  return { session, sinceMs, types: runEventTypes };
}

function hasRun(runs: readonly LoggedRun[], session: string, number: number): boolean {
  return runs.some((run) => run.session === session && run.run === number);
}

function keyOf({ session, run }: LoggedRun, atMs: number): string {
  return `${session}#${run}@${atMs}`;
}

/** Empty for a session that keeps no history, or is gone. */
async function historyOf(stored: StoredSessions, session: string, limit: number): Promise<HistoryEntry[]> {
  // Sessions that keep the outputs of their runs have `runs`.
  const keeper: StoredSessions & { runs?(id: string, limit: number): Promise<HistoryEntry[]> } = stored;
  try {
    return (await keeper.runs?.(session, limit)) ?? (await stored.history(session, limit));
  } catch (error) {
    if (error instanceof CodecellError && (error.code === "session_unknown" || error.code === "usage")) return [];
    throw error;
  }
}
