import type { UsageSample } from "../../sessions/lifecycle/usage-samples.ts";
import type { Session } from "../../sessions/session.ts";
import { type Clock, systemClock } from "../runs/clock.ts";

/** A session, as far as it is measured. */
export type MeasuredSession = Pick<Session, "key" | "isBusy" | "usedMs" | "samples" | "measure">;

export type SampleListener = (session: MeasuredSession, sample: UsageSample) => void;

export interface UsageSamplerOptions {
  /** the sessions that are open now */
  readonly sessions: () => readonly MeasuredSession[];
  readonly clock?: Clock;
  /** wall-clock milliseconds */
  readonly now?: () => number;
}

const everyMs = 2_000;
/** An idle session is measured less often: hundreds of them are normal. */
const idleEveryMs = 10_000;
const lookMs = 30_000;

/** Measures the cells of all sessions with one timer, and only while somebody looks. */
export class UsageSampler implements Disposable {
  readonly #sessions: () => readonly MeasuredSession[];
  readonly #clock: Clock;
  readonly #now: () => number;
  readonly #listeners = new Set<SampleListener>();
  #watchers = 0;
  #lookedUntil = Number.NEGATIVE_INFINITY;
  #round: Promise<void> | undefined;
  #stopTimer: (() => void) | undefined;
  #isDisposed = false;

  constructor({ sessions, clock = systemClock, now = Date.now }: UsageSamplerOptions) {
    this.#sessions = sessions;
    this.#clock = clock;
    this.#now = now;
  }

  get isSampling(): boolean {
    return !this.#isDisposed && (this.#watchers > 0 || this.#clock.now() < this.#lookedUntil);
  }

  /** Measures until the result is disposed. */
  watch(): Disposable {
    this.#watchers++;
    this.#begin();
    let isOver = false;
    const end = () => {
      if (!isOver) this.#watchers--;
      isOver = true;
    };
    return { [Symbol.dispose]: end };
  }

  /** Somebody asked: measures for the next 30 seconds. Settles after the first round, so that the answer has samples. */
  async look(): Promise<void> {
    this.#lookedUntil = this.#clock.now() + lookMs;
    this.#begin();
    await this.#round;
  }

  /** Calls the listener with every sample, until the result is disposed. */
  onSample(listener: SampleListener): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#listeners.clear();
  }

  #begin(): void {
    if (this.#isDisposed || this.#stopTimer || this.#round) return;
    this.#measureAll();
  }

  /** The next round starts a while after this one has ended: a slow container engine is not asked more and more. */
  #measureAll(): void {
    const due = this.#sessions().filter((session) => this.#isDue(session));
    this.#round = Promise.all(due.map((session) => this.#measure(session))).then(() => {
      this.#round = undefined;
      if (!this.isSampling) return;
      this.#stopTimer = this.#clock.after(everyMs, () => {
        this.#stopTimer = undefined;
        if (this.isSampling) this.#measureAll();
      });
    });
  }

  #isDue({ isBusy, usedMs, samples }: MeasuredSession): boolean {
    const atMs = samples.at(-1)?.atMs;
    if (isBusy || atMs === undefined || atMs < usedMs) return true;
    return this.#now() - atMs >= idleEveryMs;
  }

  async #measure(session: MeasuredSession): Promise<void> {
    const sample = await session.measure().catch(() => undefined);
    if (sample) for (const listener of this.#listeners) listener(session, sample);
  }
}
