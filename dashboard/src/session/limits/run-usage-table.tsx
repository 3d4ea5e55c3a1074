import type { WireSessionUsage } from "../../../../src/service/wire/sessions/session-usage.ts";
import { numbers, TableHead } from "../../parts/table-head.tsx";
import { formatBytes, formatDuration, formatTime } from "../../parts/text/format.ts";
import { orDash } from "../../parts/text/or-dash.ts";
import { shownName } from "../../parts/text/shown-name.ts";

/** What each of the last runs used, newest first. */
export function RunUsageTable({ runs }: { runs: WireSessionUsage["runs"] }) {
  if (runs.length === 0) return <p class="quiet">No run has ended yet.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls has to be reachable with the keyboard
    <section class="scroll-x" tabIndex={0} aria-label="Usage of each run">
      <table>
        <TableHead
          columns={["Run", "Ended", "Status", ...numbers("Took", "CPU time", "Peak memory", "Sent", "Received")]}
        />
        <tbody>
          {runs
            .map((run) => (
              <tr key={run.run}>
                <th scope="row">{run.run}</th>
                <td>{formatTime(run.ended_at)}</td>
                <td>
                  <span class={`badge ${run.status === "ok" ? "ok" : "bad"}`}>{shownName(run.status)}</span>
                </td>
                <td class="number">{formatDuration(run.duration_ms)}</td>
                <td class="number">{orDash(run.cpu_ms, formatDuration)}</td>
                <td class="number">{orDash(run.peak_memory_bytes, formatBytes)}</td>
                <td class="number">{orDash(run.sent_bytes, formatBytes)}</td>
                <td class="number">{orDash(run.received_bytes, formatBytes)}</td>
              </tr>
            ))
            .reverse()}
        </tbody>
      </table>
    </section>
  );
}
