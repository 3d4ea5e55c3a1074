import { Ago } from "../../parts/text/ago.tsx";
import { plural } from "../../parts/text/format.ts";
import { formatUsd, orDash } from "../../parts/text/or-dash.ts";
import { shownName } from "../../parts/text/shown-name.ts";
import type { TrajectorySummary } from "./model-calls.ts";

/** The recorded agents of the session. Each opens below the list. */
export function TrajectoryList({
  trajectories,
  open,
  onOpen,
}: {
  trajectories: readonly TrajectorySummary[];
  open: string | undefined;
  onOpen: (id: string | undefined) => void;
}) {
  return (
    <section aria-label="Agents" class="trajectories">
      <h2>Agents</h2>
      <ul>
        {trajectories.map(({ id, title, status, started_at, calls, cost_usd, parent }) => (
          <li key={id} class={parent === null ? "card" : "card is-below"}>
            <button
              type="button"
              class="plain"
              aria-expanded={open === id}
              onClick={() => onOpen(open === id ? undefined : id)}
            >
              {shownName(title, 120) || shownName(id)}
            </button>{" "}
            <span class={`badge ${status === "submitted" ? "ok" : "warn"}`}>{shownName(status, 60)}</span>{" "}
            <span class="quiet">
              <Ago at={started_at} /> · {plural(calls, "call")} · {orDash(cost_usd, formatUsd)}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
