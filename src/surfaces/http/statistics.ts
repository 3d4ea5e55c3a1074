import type { StatisticsSample } from "../../service/wire/statistics.ts";
import { encodeTime } from "../../service/wire/timestamp.ts";
import type { Gauges, Metrics } from "./metrics.ts";

export const sampleEveryMs = 5_000;
/** One hour. */
const maxSamples = 720;
/** Of one interval; at more, the first ones stand for all. */
const maxLatencies = 10_000;

export interface StatisticsOptions {
  readonly metrics: Metrics;
  readonly gauges: () => Pick<Gauges, "sessions" | "runs" | "pool">;
  /** Called with each sample. */
  readonly onSample: (sample: StatisticsSample) => void;
  readonly now: () => number;
}

interface Totals {
  readonly at: number;
  readonly requests: number;
  readonly refused: number;
  readonly runs: ReadonlyMap<string, number>;
  readonly hits: number;
  readonly misses: number;
}

/** The metrics of a service over the last hour. */
export class Statistics implements Disposable {
  readonly #options: StatisticsOptions;
  readonly #samples: StatisticsSample[] = [];
  readonly #timer: NodeJS.Timeout;
  #before: Totals;
  #latencies: number[] = [];
  #costUsd = 0;

  constructor(options: StatisticsOptions) {
    this.#options = options;
    this.#before = this.#totals();
    this.#timer = setInterval(() => this.sample(), sampleEveryMs).unref();
  }

  runEnded(durationMs: number): void {
    if (this.#latencies.length < maxLatencies) this.#latencies.push(durationMs);
  }

  spent(costUsd: number): void {
    this.#costUsd += costUsd;
  }

  /** The last samples, oldest first. */
  list(limit = maxSamples): readonly StatisticsSample[] {
    return this.#samples.slice(-limit);
  }

  /** Ends an interval. */
  sample(): StatisticsSample {
    const { gauges, onSample, now } = this.#options;
    const { sessions, runs: running, pool } = gauges();
    const before = this.#before;
    const totals = this.#totals();
    const seconds = Math.max(0.001, (totals.at - before.at) / 1000);
    const counts = [...totals.runs].map(([status, count]) => [status, count - (before.runs.get(status) ?? 0)] as const);
    const ended = counts.filter(([, count]) => count > 0);
    const sample: StatisticsSample = {
      at: encodeTime(now()),
      runs_per_second: rounded(ended.reduce((sum, [, count]) => sum + count, 0) / seconds),
      runs: Object.fromEntries(ended),
      latency_ms: percentiles(this.#latencies),
      requests_per_second: rounded((totals.requests - before.requests) / seconds),
      refused: totals.refused - before.refused,
      ...{ sessions, running },
      pool: { ready: pool.ready, hits: totals.hits - before.hits, misses: totals.misses - before.misses },
      rss_bytes: process.memoryUsage.rss(),
      cost_usd: this.#costUsd,
    };
    this.#before = totals;
    this.#latencies = [];
    this.#costUsd = 0;
    this.#samples.push(sample);
    if (this.#samples.length > maxSamples) this.#samples.shift();
    onSample(sample);
    return sample;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #totals(): Totals {
    const { metrics, gauges } = this.#options;
    const { hits, misses } = gauges().pool;
    return { at: performance.now(), ...metrics.totals, hits, misses };
  }
}

function percentiles(values: readonly number[]): StatisticsSample["latency_ms"] {
  if (values.length === 0) return null;
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => rounded(sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0);
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
