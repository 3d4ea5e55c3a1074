import { useState } from "preact/hooks";
import type { WireNetworkEntry } from "../../../../src/service/wire/network.ts";
import { numbers, TableHead } from "../../parts/table-head.tsx";
import { formatBytes, formatTime } from "../../parts/text/format.ts";
import { orDash } from "../../parts/text/or-dash.ts";
import { shownName } from "../../parts/text/shown-name.ts";

const atFirst = 200;

export function NetworkTable({ entries }: { entries: readonly WireNetworkEntry[] }) {
  const [limit, setLimit] = useState(atFirst);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls has to be reachable with the keyboard
    <section class="scroll-x" tabIndex={0} aria-label="Network log">
      <table>
        <TableHead columns={["Time", ...numbers("Run"), "Host", "Verdict", "Rule", ...numbers("Sent", "Received")]} />
        <tbody>
          {entries.slice(0, limit).map((entry, index) => (
            <EntryRow key={`${entry.at} ${entries.length - index}`} entry={entry} />
          ))}
        </tbody>
      </table>
      {entries.length > limit ? (
        <button type="button" onClick={() => setLimit(limit + 1000)}>
          Show more
        </button>
      ) : null}
    </section>
  );
}

function EntryRow({ entry }: { entry: WireNetworkEntry }) {
  const { at, run, host, port, verdict, rule, reason, address, sent_bytes, received_bytes } = entry;
  const isAllowed = verdict === "allowed";
  return (
    <tr>
      <td class="time">{formatTime(at)}</td>
      <td class="number">{orDash(run, String)}</td>
      <th scope="row" class="host">
        <span title={address === null ? undefined : shownName(address)}>
          {shownName(host)}:{port}
        </span>
      </th>
      <td>
        <span class={`badge ${isAllowed ? "ok" : "bad"}`}>{isAllowed ? "allowed" : "refused"}</span>
      </td>
      <td class="rule">
        {shownName(rule)}
        {reason === null ? null : <span class="quiet reason">{shownName(reason, 400)}</span>}
      </td>
      <td class="number">{orDash(sent_bytes, formatBytes)}</td>
      <td class="number">{orDash(received_bytes, formatBytes)}</td>
    </tr>
  );
}
