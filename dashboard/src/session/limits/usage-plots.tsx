import type { WireSessionUsage } from "../../../../src/service/wire/sessions/session-usage.ts";
import { EmptyState } from "../../parts/empty-state.tsx";
import { Plot } from "../../parts/plot/plot.tsx";
import { formatBytes } from "../../parts/text/format.ts";

/** Memory and processor over time. */
export function UsagePlots({ samples }: { samples: WireSessionUsage["samples"] }) {
  if (samples.length < 2) {
    return (
      <EmptyState title="No curves yet">
        <p>The cell is measured after each run, and every few seconds while somebody looks. Run something, or wait.</p>
      </EmptyState>
    );
  }
  const times = samples.map(({ at }) => at);
  return (
    <div class="plots">
      <Plot
        title="Memory"
        times={times}
        format={formatBytes}
        curves={[{ name: "memory", colour: "--info", values: samples.map(({ memory_bytes }) => memory_bytes) }]}
      />
      <Plot
        title="CPU"
        times={times}
        format={(value) => `${Math.round(value)}%`}
        curves={[{ name: "processor", colour: "--accent", values: samples.map(({ cpu_percent }) => cpu_percent) }]}
      />
    </div>
  );
}
