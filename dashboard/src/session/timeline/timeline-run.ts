import { type Signal, signal } from "@preact/signals";
import type { WireRun } from "../../../../src/service/wire/runs/run.ts";
import type { WireRunEvent } from "../../../../src/service/wire/runs/run-event.ts";
import type { WireHistoryEntry } from "../../../../src/service/wire/sessions/history.ts";
import { RunOutputs } from "./run-outputs.ts";

type RunError = NonNullable<WireRun["error"]>;

/** What is known of a run before its events arrive. */
export interface KnownRun {
  readonly runId?: string;
  readonly number?: number;
  readonly code?: string;
  readonly language?: string;
  /** how long it has been running */
  readonly elapsedMs?: number;
  /** whether the page can send input to it */
  readonly takesInput?: boolean;
}

/** One run of the timeline. It changes while it is running; `version` counts the changes. */
export class TimelineRun {
  readonly key: string;
  readonly runId: string | undefined;
  readonly version: Signal<number> = signal(0);
  readonly startedMs: number;
  number: number | undefined;
  /** undefined: it is not known until the run has ended */
  code: string | undefined;
  language: string;
  takesInput: boolean;
  status = "running";
  durationMs: number | undefined;
  endedAt: string | undefined;
  /** undefined: they are no longer kept */
  outputs: RunOutputs | undefined = new RunOutputs();
  value: string | null = null;
  error: RunError | null = null;
  notes: readonly string[] = [];
  leftOutBytes = 0;
  stoppedAtLine: number | null = null;
  #nextOffset = 0;
  #isScheduled = false;
  #searched: { version: number; text: string } | undefined;

  constructor(known: KnownRun) {
    this.runId = known.runId;
    this.number = known.number;
    this.key = known.runId ?? `run ${known.number}`;
    this.code = known.code;
    this.language = known.language ?? "python";
    this.takesInput = known.takesInput ?? false;
    this.startedMs = Date.now() - (known.elapsedMs ?? 0);
  }

  static fromHistory(entry: WireHistoryEntry): TimelineRun {
    const run = new TimelineRun({ number: entry.run });
    run.complete(entry);
    const { outputs } = entry;
    if (!outputs) {
      run.outputs = undefined;
      return run;
    }
    for (const event of outputs.events) run.outputs?.add(event);
    run.value = outputs.value;
    run.error = outputs.error;
    run.leftOutBytes = outputs.left_out_bytes;
    return run;
  }

  get isRunning(): boolean {
    return this.status === "running";
  }

  /** Takes what only the history knows. */
  complete({ run, code, language, ended_at, status, duration_ms }: WireHistoryEntry): void {
    if (this.endedAt === ended_at && this.code === code) return;
    this.number = run;
    this.code = code;
    this.language = language;
    this.endedAt = ended_at;
    this.status = status;
    this.durationMs = duration_ms;
    this.changed();
  }

  /** Takes an event of the run. One that arrives a second time, after a lost connection, is ignored. */
  take(event: WireRunEvent): void {
    if (event.type === "run") return;
    if (event.type === "error") {
      this.status = "failed";
      this.notes = [event.error.message, ...(event.error.hint ? [event.error.hint] : [])];
      this.changed();
      return;
    }
    if (event.offset < this.#nextOffset) return;
    this.#nextOffset = event.offset + 1;
    if (event.type === "result") this.#end(event.run);
    else if (event.type === "display") this.outputs?.add({ ...event, text: null });
    else this.outputs?.add({ ...event, display: null, mime_type: null, data_base64: null });
    this.changed();
  }

  #end(result: WireRun): void {
    this.status = result.status;
    this.number = result.number ?? this.number;
    this.durationMs = result.duration_ms;
    this.value = result.value;
    this.error = result.error;
    this.notes = result.notes;
    this.stoppedAtLine = result.stopped_at_line;
    this.leftOutBytes = (result.left_out_bytes?.stdout ?? 0) + (result.left_out_bytes?.stderr ?? 0);
    this.endedAt ??= new Date().toISOString();
  }

  /** Shows the changes with the next picture: a program may print thousands of times a second. */
  changed(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const show = () => {
      this.#isScheduled = false;
      this.version.value++;
    };
    if (document.visibilityState === "visible") requestAnimationFrame(show);
    else setTimeout(show, 100);
  }

  /** Whether its code or its output contains a text in lower case. */
  contains(text: string): boolean {
    const version = this.version.peek();
    if (this.#searched?.version !== version) {
      const parts = [`#${this.number}`, this.code, this.status, this.outputs?.printed, this.value];
      const all = [...parts, this.error?.type, this.error?.message, ...this.notes].filter((part) => part).join("\n");
      this.#searched = { version, text: all.toLowerCase() };
    }
    return this.#searched.text.includes(text);
  }
}
