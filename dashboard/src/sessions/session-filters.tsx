import { type Signal, useComputed } from "@preact/signals";
import { plural } from "../parts/text/format.ts";
import { shownName } from "../parts/text/shown-name.ts";
import { isAdmin } from "../state/service.ts";
import { isShown, stateOf, type View } from "./list-order.ts";
import type { SessionRows } from "./session-rows.ts";

type Filter = "state" | "runner" | "tenant";

/** Search, filters, and how many sessions are left. */
export function SessionFilters({ list, view }: { list: SessionRows; view: Signal<View> }) {
  const facts = useComputed(() => {
    const sessions = list.rows.value.map(({ session }) => session.value);
    const distinct = (values: (string | null | undefined)[]) =>
      [...new Set(values.filter((value) => value !== null && value !== undefined))].sort();
    return {
      all: sessions.length,
      shown: sessions.filter((session) => isShown(session, view.value)).length,
      state: distinct(sessions.map(stateOf)),
      runner: distinct(sessions.map(({ runner }) => runner)),
      tenant: distinct(sessions.map(({ tenant }) => tenant)),
    };
  });
  const { all, shown } = facts.value;
  const set = (change: Partial<View>) => {
    view.value = { ...view.value, ...change };
  };
  const filters: Filter[] = isAdmin.value ? ["state", "runner", "tenant"] : ["state", "runner"];
  return (
    <search class="filters">
      <input
        type="search"
        aria-label="Search sessions"
        placeholder="Search"
        value={view.value.search}
        onInput={(event) => set({ search: event.currentTarget.value })}
      />
      {filters.map((name) => (
        <select
          key={name}
          aria-label={`Filter by ${name}`}
          value={view.value[name]}
          onChange={(event) => set({ [name]: event.currentTarget.value })}
        >
          <option value="">Every {name}</option>
          {facts.value[name].map((value) => (
            <option key={value} value={value}>
              {shownName(value, 40)}
            </option>
          ))}
        </select>
      ))}
      <span class="quiet" role="status">
        {shown === all ? plural(all, "session") : `${shown} of ${plural(all, "session")}`}
      </span>
    </search>
  );
}
