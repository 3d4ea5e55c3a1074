import type { WireSessionUsage } from "../../../../src/service/wire/sessions/session-usage.ts";
import { Gauge } from "../../parts/plot/gauge.tsx";
import { formatBytes, formatCount, formatDuration } from "../../parts/text/format.ts";

/** A gauge for each limit. What the runner cannot measure is said, not left out. */
export function LimitGauges({ usage }: { usage: WireSessionUsage }) {
  const { limits, now, runs } = usage;
  const longest = runs.length === 0 ? null : Math.max(...runs.map(({ duration_ms }) => duration_ms));
  const sum = (read: (run: (typeof runs)[number]) => number | null) =>
    runs.reduce((total, run) => total + (read(run) ?? 0), 0);
  const percent = (value: number) => `${Math.round(value)}%`;
  const peak = now.peak_memory_bytes === null ? undefined : `most so far: ${formatBytes(now.peak_memory_bytes)}`;
  const kills = now.oom_kills ? `${formatCount(now.oom_kills)} processes were killed for it` : undefined;
  return (
    <div class="gauges">
      <Gauge
        name="Memory"
        used={now.memory_bytes}
        limit={limits.memory_bytes}
        shown={formatBytes}
        note={kills ?? peak ?? unmeasured(now.memory_bytes)}
      />
      <Gauge name="CPU" used={now.cpu_percent} limit={limits.cpus * 100} shown={percent} note="100% is one processor" />
      <Gauge
        name="Processes"
        used={now.processes}
        limit={limits.processes}
        shown={formatCount}
        note={unmeasured(now.processes)}
      />
      <Gauge
        name="Disk"
        used={now.disk_bytes}
        limit={limits.disk_bytes}
        shown={formatBytes}
        note={unmeasured(now.disk_bytes)}
      />
      <Gauge
        name="Time"
        used={longest}
        limit={limits.timeout_ms}
        shown={formatDuration}
        note="the longest run so far"
      />
      <Gauge name="Output" used={null} limit={limits.output_bytes} shown={formatBytes} note="of one run" />
      {limits.sent_bytes === null ? null : (
        <Gauge name="Sent" used={sum((run) => run.sent_bytes)} limit={limits.sent_bytes} shown={formatBytes} />
      )}
      {limits.received_bytes === null ? null : (
        <Gauge
          name="Received"
          used={sum((run) => run.received_bytes)}
          limit={limits.received_bytes}
          shown={formatBytes}
        />
      )}
    </div>
  );
}

function unmeasured(used: number | null): string | undefined {
  return used === null ? "not measured now" : undefined;
}
