import type { StatisticsSample } from "../../../src/service/wire/statistics.ts";
import { type Curve, Plot } from "../parts/plot/plot.tsx";
import { formatBytes, formatCount, formatDuration } from "../parts/text/format.ts";
import { formatUsd } from "../parts/text/or-dash.ts";
import { runsByStatus } from "./statistics.ts";

type Read = (sample: StatisticsSample) => number | null;

/** The numbers that Prometheus gets, as curves of the last hour. */
export function ServicePlots({ samples, intervalMs }: { samples: readonly StatisticsSample[]; intervalMs: number }) {
  const times = samples.map(({ at }) => at);
  const curve = (name: string, colour: string, read: Read): Curve => ({ name, colour, values: samples.map(read) });
  const plots = [
    { title: "Runs per second", format: formatCount, curves: runsByStatus(samples, intervalMs) },
    {
      title: "Latency of runs",
      format: formatDuration,
      curves: [
        curve("p50", "--ok", ({ latency_ms }) => latency_ms?.p50 ?? null),
        curve("p95", "--warn", ({ latency_ms }) => latency_ms?.p95 ?? null),
        curve("p99", "--bad", ({ latency_ms }) => latency_ms?.p99 ?? null),
      ],
    },
    {
      title: "Requests per second",
      format: formatCount,
      curves: [curve("requests", "--accent", ({ requests_per_second }) => requests_per_second)],
    },
    { title: "Refusals", format: formatCount, curves: [curve("refused", "--bad", ({ refused }) => refused)] },
    {
      title: "Sessions",
      format: formatCount,
      curves: [
        curve("open", "--accent", ({ sessions }) => sessions),
        curve("running", "--info", ({ running }) => running),
      ],
    },
    {
      title: "Pool of ready cells",
      format: formatCount,
      curves: [
        curve("ready", "--ok", ({ pool }) => pool.ready),
        curve("hits", "--accent", ({ pool }) => pool.hits),
        curve("misses", "--warn", ({ pool }) => pool.misses),
      ],
    },
    {
      title: "Memory of the service",
      format: formatBytes,
      curves: [curve("resident", "--info", ({ rss_bytes }) => rss_bytes)],
    },
    { title: "Spent on models", format: formatUsd, curves: [curve("cost", "--warn", ({ cost_usd }) => cost_usd)] },
  ];
  return (
    <div class="plots">
      {plots.map((plot) => (
        <Plot key={plot.title} {...plot} times={times} />
      ))}
    </div>
  );
}
