import type { AuditEntry } from "../../../service/audit/audit-files.ts";
import type { HistoryEntry } from "../../../sessions/storage/session-history.ts";

/** One run, as the audit and the session's history know it. */
export interface LoggedRun {
  readonly session: string;
  readonly run: number;
  readonly language: string;
  /** milliseconds since 1970 */
  readonly startedMs: number;
  /** absent: the policy does not record it, and the session keeps no history */
  readonly code?: string;
  readonly isCodeCut?: boolean;
  /** absent: it is still running, or its process was killed */
  readonly end?: RunEnd;
  /** what it printed and showed, if the history keeps that */
  readonly outputs?: unknown;
}

export interface RunEnd {
  readonly endedMs: number;
  readonly status: string;
  readonly durationMs: number;
  readonly error?: string;
  readonly exitCode?: number;
  /** absent: only the history knows the run */
  readonly printedBytes?: number;
}

/** The clock of the history and that of the audit are read at different moments of the same end. */
const sameEndMs = 10_000;

/** Types of the events that are read. */
export const runEventTypes = ["run.started", "run.ended"] as const;

/** Puts runs together from events in the order of time. */
export class RunCollector {
  readonly #runs: LoggedRun[] = [];
  readonly #open = new Map<string, number>();

  get runs(): readonly LoggedRun[] {
    return this.#runs;
  }

  /** Takes an event, and returns its run as it is known now. */
  add({ time, event }: AuditEntry): LoggedRun | undefined {
    const session = textOf(event.session);
    const run = numberOf(event.run);
    const atMs = Date.parse(time);
    if (session === undefined || run === undefined || !Number.isFinite(atMs)) return undefined;
    const key = `${session}#${run}`; // an id can be used again after its session was deleted: the last start counts
    if (event.type === "run.started") {
      this.#open.set(key, this.#runs.length);
      const code = textOf(event.code);
      const cut = event.isCodeCut === true ? { isCodeCut: true } : {};
      const started = { session, run, language: textOf(event.language) ?? "", startedMs: atMs };
      return this.#put(this.#runs.length, { ...started, ...(code === undefined ? {} : { code }), ...cut });
    }
    if (event.type !== "run.ended") return undefined;
    const at = this.#open.get(key);
    const end = endOf(event, atMs);
    const begun = at === undefined ? undefined : this.#runs[at];
    this.#open.delete(key);
    if (at !== undefined && begun) return this.#put(at, { ...begun, end });
    return this.#put(this.#runs.length, { session, run, language: "", startedMs: atMs - end.durationMs, end });
  }

  #put(at: number, run: LoggedRun): LoggedRun {
    this.#runs[at] = run;
    return run;
  }
}

function endOf(event: AuditEntry["event"], endedMs: number): RunEnd {
  const error = textOf(event.error);
  const exitCode = numberOf(event.exitCode);
  return {
    ...{ endedMs, status: textOf(event.status) ?? "unknown", durationMs: numberOf(event.durationMs) ?? 0 },
    ...(error === undefined ? {} : { error }),
    ...(exitCode === undefined ? {} : { exitCode }),
    printedBytes: (numberOf(event.stdoutBytes) ?? 0) + (numberOf(event.stderrBytes) ?? 0),
  };
}

/** Adds what the session's history knows: the whole code, outputs, and runs that were not audited. */
export function withHistory(
  runs: readonly LoggedRun[],
  session: string,
  history: readonly HistoryEntry[],
): LoggedRun[] {
  const rest = new Set(history);
  const merged = runs.map((run) => {
    if (run.session !== session) return run;
    const entry = [...rest].find((one) => isSame(run, one));
    if (!entry) return run;
    rest.delete(entry);
    const { isCodeCut: _, ...whole } = run;
    return { ...whole, language: entry.language, code: entry.code, ...outputsOf(entry) };
  });
  for (const entry of rest) merged.push(fromHistory(session, entry));
  return merged.sort((a, b) => a.startedMs - b.startedMs);
}

function isSame({ run, end }: LoggedRun, entry: HistoryEntry): boolean {
  return run === entry.run && end !== undefined && Math.abs(end.endedMs - entry.atMs) < sameEndMs;
}

function fromHistory(session: string, entry: HistoryEntry): LoggedRun {
  const { run, language, code, status, durationMs, atMs } = entry;
  const end = { endedMs: atMs, status, durationMs };
  return { ...{ session, run, language, code, startedMs: atMs - durationMs, end }, ...outputsOf(entry) };
}

function outputsOf(entry: HistoryEntry & { readonly outputs?: unknown }): { outputs?: unknown } {
  return entry.outputs === undefined ? {} : { outputs: entry.outputs };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
