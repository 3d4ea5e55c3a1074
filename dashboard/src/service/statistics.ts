import type { StatisticsSample } from "../../../src/service/wire/statistics.ts";
import type { WireTenantStatistics } from "../../../src/surfaces/http/tenant-statistics.ts";

/** `GET /v1/statistics` */
export interface Statistics {
  readonly interval_ms: number;
  readonly samples: readonly StatisticsSample[];
  readonly tenants: readonly WireTenantStatistics[];
}

/** An hour at 5 s. */
const maxSamples = 720;

/** Pure: the samples with a newer one; one that is not newer changes nothing. */
export function withSample(
  samples: readonly StatisticsSample[],
  sample: StatisticsSample,
): readonly StatisticsSample[] {
  const last = samples.at(-1);
  if (last && Date.parse(sample.at) <= Date.parse(last.at)) return samples;
  return [...samples, sample].slice(-maxSamples);
}

const statusColours: ReadonlyMap<string, string> = new Map([
  ["ok", "--ok"],
  ["error", "--bad"],
  ["timeout", "--warn"],
  ["cancelled", "--quiet"],
  ["interrupted", "--info"],
]);
const otherColours = ["--accent", "--info", "--warn", "--quiet"];

/** Pure: runs per second of each status that occurs, `ok` first. */
export function runsByStatus(
  samples: readonly StatisticsSample[],
  intervalMs: number,
): { readonly name: string; readonly colour: string; readonly values: readonly number[] }[] {
  const found = new Set(samples.flatMap(({ runs }) => Object.keys(runs)));
  found.delete("ok");
  return ["ok", ...[...found].sort().slice(0, 7)].map((name, index) => ({
    name,
    colour: statusColours.get(name) ?? otherColours[index % otherColours.length] ?? "--accent",
    values: samples.map(({ runs }) => (runs[name] ?? 0) / (intervalMs / 1000)),
  }));
}
