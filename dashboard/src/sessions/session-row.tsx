import { Sparkline } from "../parts/plot/sparkline.tsx";
import { Ago } from "../parts/text/ago.tsx";
import { formatBytes, formatCount } from "../parts/text/format.ts";
import { orDash } from "../parts/text/or-dash.ts";
import { shownName } from "../parts/text/shown-name.ts";
import { hrefOf } from "../state/route.ts";
import { isAdmin, me } from "../state/service.ts";
import { stateOf } from "./list-order.ts";
import type { Row } from "./session-rows.ts";

const looks: Readonly<Record<string, string>> = { busy: "info", live: "ok", damaged: "bad", saved: "warn" };

/** One session of the list. It draws itself again when its own signals change, and only then. */
export function SessionRow({ row }: { row: Row }) {
  const session = row.session.value;
  const { session_id: id, namespace } = session;
  const state = stateOf(session);
  const ref = { id, namespace: namespace === me.value?.namespace ? undefined : namespace };
  return (
    <tr>
      <th scope="row">
        <a class="row-link" href={hrefOf({ page: "session", session: ref, panel: "timeline" })}>
          {shownName(id)}
        </a>
      </th>
      {isAdmin.value ? <td>{orDash(session.tenant, (name) => shownName(name))}</td> : null}
      <td>{orDash(session.runner, (name) => shownName(name))}</td>
      <td>
        <code title={orDash(session.policy_hash, (hash) => shownName(hash))}>
          {orDash(session.policy_hash, (hash) => shownName(hash.slice(0, 8)))}
        </code>
      </td>
      <td>
        <span
          class={`badge ${looks[state] ?? ""}`}
          title={session.problem === null ? undefined : shownName(session.problem)}
        >
          {state}
        </span>
      </td>
      <td class="number">{orDash(session.runs, formatCount)}</td>
      <td>
        <Ago at={session.created_at} />
      </td>
      <td>
        <Ago at={session.used_at} />
      </td>
      <UsageCells row={row} />
    </tr>
  );
}

/** Apart, because usage changes most often. */
function UsageCells({ row }: { row: Row }) {
  const { cpu, memory } = row.usage.value;
  return (
    <>
      <td class="curve">
        <Sparkline values={cpu} max={100} />
        <span>{orDash(cpu.at(-1), (percent) => `${Math.round(percent)}%`)}</span>
      </td>
      <td class="curve">
        <Sparkline values={memory} />
        <span>{orDash(memory.at(-1), formatBytes)}</span>
      </td>
    </>
  );
}
