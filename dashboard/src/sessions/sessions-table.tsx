import type { Signal } from "@preact/signals";
import { useComputed } from "@preact/signals";
import type { VNode } from "preact";
import { isAdmin } from "../state/service.ts";
import { type Column, columns, compare, isShown, type View } from "./list-order.ts";
import { SessionRow } from "./session-row.tsx";
import type { Row, SessionRows } from "./session-rows.ts";

const titles: Record<Column, string> = {
  session: "Session",
  tenant: "Tenant",
  runner: "Runner",
  policy: "Policy",
  state: "State",
  runs: "Runs",
  created: "Created",
  used: "Last use",
};

/** Preact skips an element that is the same object as before, so a new order of 500 rows draws none of them again. */
const elements = new WeakMap<Row, VNode>();

function elementOf(row: Row): VNode {
  const known = elements.get(row);
  if (known) return known;
  const element = <SessionRow key={row.key} row={row} />;
  elements.set(row, element);
  return element;
}

export function SessionsTable({ list, view }: { list: SessionRows; view: Signal<View> }) {
  const shown = useComputed(() => {
    const now = view.value;
    const rows = list.rows.value.filter(({ session }) => isShown(session.value, now));
    return rows.sort((a, b) => compare(a.session.value, b.session.value, now));
  });
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls has to be reachable with the keyboard
    <section class="scroll-x sessions-list" tabIndex={0} aria-label="List of sessions">
      <table>
        <thead>
          <tr>
            {columns.map((column) =>
              column === "tenant" && !isAdmin.value ? null : <SortHead key={column} {...{ column, view }} />,
            )}
            <th scope="col">CPU</th>
            <th scope="col">Memory</th>
          </tr>
        </thead>
        <tbody>{shown.value.map(elementOf)}</tbody>
      </table>
      {shown.value.length === 0 ? <p class="quiet none">No session matches.</p> : null}
    </section>
  );
}

/** The head of a column: a button that sorts by it. */
function SortHead({ column, view }: { column: Column; view: Signal<View> }) {
  const { sort, descending } = view.value;
  const isSorted = sort === column;
  const order = isSorted ? (descending ? "descending" : "ascending") : "none";
  const sortByThis = () => {
    view.value = {
      ...view.value,
      sort: column,
      descending: isSorted ? !descending : column === "used" || column === "runs",
    };
  };
  return (
    <th scope="col" class={column === "runs" ? "number" : undefined} aria-sort={order}>
      <button type="button" class="plain sort" onClick={sortByThis}>
        {titles[column]}
        <span aria-hidden="true">{isSorted ? (descending ? " ↓" : " ↑") : ""}</span>
      </button>
    </th>
  );
}
