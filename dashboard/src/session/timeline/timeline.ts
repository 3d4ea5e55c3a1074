import { computed, signal } from "@preact/signals";
import type { WireRunSummary } from "../../../../src/service/wire/runs/run-summary.ts";
import type { WireHistoryEntry } from "../../../../src/service/wire/sessions/history.ts";
import { type ApiError, asApiError } from "../../api/api-error.ts";
import { getJson, type SessionRef, sessionPath } from "../../api/client.ts";
import type { ServiceEvent } from "../../api/service-events.ts";
import { followRun } from "./follow-run.ts";
import { startRun } from "./start-run.ts";
import { type KnownRun, TimelineRun } from "./timeline-run.ts";

/** How many runs the page shows at first, and how many the service gives at most. */
export const firstRuns = 200;
export const mostRuns = 1000;
/** Events of many short runs cause one request. */
const gatherMs = 150;

/** Runs that this page started: it can send input to them, and has all of their code. Kept while the user looks at other panels. */
const startedHere = new Map<string, KnownRun>();
const mostStarted = 100;

/** The runs of a session, oldest first, as they happen. */
export class Timeline implements Disposable {
  readonly session: SessionRef;
  readonly runs = signal<readonly TimelineRun[]>([]);
  readonly loading = signal<"loading" | "ready" | ApiError>("loading");
  /** whether there may be earlier runs than those shown */
  readonly hasEarlier = signal(false);
  /** the run that is running now */
  readonly running = computed(() => this.runs.value.findLast((run) => run.version.value >= 0 && run.isRunning));
  readonly #ended = new Map<number, TimelineRun>();
  readonly #live = new Map<string, TimelineRun>();
  readonly #leaving = new AbortController();
  #limit = firstRuns;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(session: SessionRef) {
    this.session = session;
  }

  /** Loads everything: at first, and after events were lost. */
  async load(limit = this.#limit): Promise<void> {
    this.#limit = limit;
    try {
      const [history] = await Promise.all([this.#history(limit), this.#findRunning()]);
      this.hasEarlier.value = history.length === limit && limit < mostRuns;
      this.#merge(history);
      this.loading.value = "ready";
    } catch (thrown) {
      if (!this.#leaving.signal.aborted) this.loading.value = asApiError(thrown);
    }
  }

  /** Takes an event of the session. */
  take(event: ServiceEvent): void {
    const number = typeof event.run === "number" ? event.run : undefined;
    if (event.type === "run.started") {
      this.#findRunning().catch(() => this.#loadSoon());
    } else if (event.type === "run.ended" && number !== undefined) {
      const isFollowed = [...this.#live.values()].some((run) => run.number === number && run.code !== undefined);
      if (!isFollowed) this.#loadSoon();
    }
  }

  /** Runs code, and shows it at once. */
  async start(code: string, language: string): Promise<TimelineRun> {
    const { run_id } = await startRun(this.session, code, language, this.#leaving.signal);
    const known = { runId: run_id, code, language, takesInput: true };
    startedHere.set(run_id, known);
    for (const oldest of startedHere.keys()) if (startedHere.size > mostStarted) startedHere.delete(oldest);
    return this.#follow(known);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#leaving.abort();
  }

  #history(limit: number): Promise<readonly WireHistoryEntry[]> {
    const path = sessionPath(this.session, "/history", { outputs: true, limit });
    return getJson<{ history: WireHistoryEntry[] }>(path, { signal: this.#leaving.signal }).then((all) => all.history);
  }

  async #findRunning(): Promise<void> {
    const path = sessionPath(this.session, "/runs");
    const { runs } = await getJson<{ runs: WireRunSummary[] }>(path, { signal: this.#leaving.signal });
    for (const { run_id, status, duration_ms, number, code, code_cut, language } of runs) {
      if (status !== "running") continue;
      this.#follow({
        ...(number === null ? {} : { number }),
        ...(code === null || code_cut ? {} : { code }),
        ...(language === null ? {} : { language }),
        ...startedHere.get(run_id),
        ...{ elapsedMs: duration_ms, runId: run_id },
      });
    }
  }

  #follow(known: KnownRun & { readonly runId: string }): TimelineRun {
    const followed = this.#live.get(known.runId);
    if (followed) {
      followed.number ??= known.number;
      followed.takesInput ||= known.takesInput === true;
      if (followed.code === undefined && known.code !== undefined) {
        followed.code = known.code;
        followed.language = known.language ?? followed.language;
        followed.changed();
      }
      return followed;
    }
    const run = new TimelineRun(known);
    this.#live.set(known.runId, run);
    this.#show();
    void followRun(this.session, run, this.#leaving.signal).then((outcome) => {
      if (outcome === "gone") this.#live.delete(known.runId);
      if (outcome === "gone" || run.code === undefined) this.#loadSoon();
      this.#show(); // now it has its number
    });
    return run;
  }

  #loadSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#history(Math.min(this.#limit, 50)).then(
        (history) => this.#merge(history),
        () => {}, // the next event, or the next connection, loads again
      );
    }, gatherMs);
  }

  #merge(history: readonly WireHistoryEntry[]): void {
    const live = new Map([...this.#live.values()].map((run) => [run.number, run]));
    for (const entry of history) {
      const run = live.get(entry.run) ?? this.#ended.get(entry.run);
      const isSame = run !== undefined && (run.endedAt === entry.ended_at || live.has(entry.run));
      if (isSame && !run.isRunning) run.complete(entry);
      else if (!isSame) this.#ended.set(entry.run, TimelineRun.fromHistory(entry));
    }
    this.#show();
  }

  #show(): void {
    if (this.#leaving.signal.aborted) return;
    const live = [...this.#live.values()];
    const numbers = new Set(live.map((run) => run.number));
    const ended = [...this.#ended.values()].filter((run) => !numbers.has(run.number));
    const place = ({ number }: TimelineRun) => number ?? Number.POSITIVE_INFINITY;
    this.runs.value = [...ended, ...live].sort((one, other) => place(one) - place(other) || 0);
  }
}
