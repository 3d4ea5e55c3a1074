import { numbers, TableHead } from "../../parts/table-head.tsx";
import { formatCount, formatDuration, formatTime, plural } from "../../parts/text/format.ts";
import { formatUsd, orDash } from "../../parts/text/or-dash.ts";
import { shownName } from "../../parts/text/shown-name.ts";
import { type CallerNode, callTree, type ModelCall } from "./model-calls.ts";

const shownCalls = 100;

/** Calls below who made them. */
export function CallTree({ calls }: { calls: readonly ModelCall[] }) {
  if (calls.length === 0) return null;
  return (
    <section aria-label="Calls of models" class="call-tree">
      <h2>Calls</h2>
      <Callers nodes={callTree(calls)} />
    </section>
  );
}

function Callers({ nodes }: { nodes: readonly CallerNode[] }) {
  return (
    <ul>
      {nodes.map((node) => (
        <li key={node.by}>
          <details open>
            <summary>
              <code>{shownName(node.by)}</code>{" "}
              <span class="quiet">
                {plural(node.total.calls, "call")} · {plural(node.total.tokens, "token")} ·{" "}
                {formatUsd(node.total.cost_usd)}
              </span>
            </summary>
            <CallTable calls={node.calls} by={node.by} />
            {node.below.length === 0 ? null : <Callers nodes={node.below} />}
          </details>
        </li>
      ))}
    </ul>
  );
}

function CallTable({ calls, by }: { calls: readonly ModelCall[]; by: string }) {
  const left = calls.length - shownCalls;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls has to be reachable with the keyboard
    <section class="scroll-x" tabIndex={0} aria-label={`Calls of ${shownName(by, 40)}`}>
      <table>
        <TableHead columns={["Time", "Model", "For", "Status", ...numbers("In", "Out", "Took", "Cost")]} />
        <tbody>
          {calls.slice(-shownCalls).map((call, index) => (
            <tr key={`${call.at} ${index}`}>
              <td>{formatTime(call.at)}</td>
              <td>{shownName(call.model)}</td>
              <td>{shownName(call.purpose)}</td>
              <td>
                <span class={`badge ${call.status === "ok" ? "ok" : "bad"}`}>{shownName(call.status, 60)}</span>{" "}
                {call.source === null || call.source === "model" ? null : (
                  <span class="badge">{shownName(call.source, 60)}</span>
                )}
              </td>
              <td class="number">{formatCount(call.input_tokens)}</td>
              <td class="number">{formatCount(call.output_tokens)}</td>
              <td class="number">{formatDuration(call.duration_ms)}</td>
              <td class="number">{orDash(call.cost_usd, formatUsd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {left > 0 ? <p class="quiet">{plural(left, "earlier call")} not shown</p> : null}
    </section>
  );
}
