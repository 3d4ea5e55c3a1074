import { useRef, useState } from "preact/hooks";
import type { WireVariable } from "../../../../src/service/wire/sessions/variable.ts";
import { getJson, type SessionRef, sessionPath } from "../../api/client.ts";
import type { ServiceEvent } from "../../api/service-events.ts";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorBox } from "../../parts/error-box.tsx";
import { useLoad } from "../../parts/load/use-load.ts";
import { useSessionEvents } from "../../parts/load/use-session-events.ts";
import { formatBytes, plural } from "../../parts/text/format.ts";
import { useShowMore } from "../../parts/text/show-more.tsx";
import { shownName } from "../../parts/text/shown-name.ts";
import { ValueView } from "./value-view.tsx";

interface Variables {
  readonly variables: readonly WireVariable[];
  readonly total: number;
}

/** After these the variables may be others. */
const changing = /^(?:run\.ended|session\.(?:rollback|reset|restored|recovered|undone|undo))$/;
export const changesVariables = ({ type }: ServiceEvent): boolean => changing.test(type);

/** The table, and beside it the value of the variable that was chosen. While a run is running it keeps what it had. */
export function VariableTable({ session, isBusy }: { session: SessionRef; isBusy: boolean }) {
  const [round, setRound] = useState(0);
  const [chosen, setChosen] = useState<string>();
  const [search, setSearch] = useState("");
  const known = useRef<Variables>(undefined);
  // The service answers when the run has ended; leaving `isBusy` out of it would keep a request open for hours.
  const load = async (signal: AbortSignal) =>
    isBusy ? known.current : await getJson<Variables>(sessionPath(session, "/variables"), { signal });
  const { loaded, reload } = useLoad(load, [session.id, session.namespace, isBusy, round]);
  useSessionEvents(session, (event) => {
    if (changesVariables(event)) setRound((now) => now + 1);
  });
  if (loaded.state === "ready" && loaded.value) known.current = loaded.value;
  const shown = known.current;
  return (
    <>
      <p role="status" class={isBusy ? "panel-notice" : "visually-hidden"}>
        {isBusy ? "A run is running; variables appear when it ends." : shown ? plural(shown.total, "variable") : ""}
      </p>
      {loaded.state === "failed" && !isBusy ? <ErrorBox error={loaded.error} retry={reload} /> : null}
      {shown ? (
        <div class={chosen === undefined ? undefined : "two-columns"}>
          <Rows
            {...{ shown, search, setSearch, chosen }}
            choose={(name) => setChosen(name === chosen ? undefined : name)}
          />
          {chosen === undefined ? null : (
            <ValueView key={chosen} {...{ session, name: chosen, isBusy, round }} close={() => setChosen(undefined)} />
          )}
        </div>
      ) : isBusy || loaded.state === "failed" ? null : (
        <p class="quiet">Loading…</p>
      )}
    </>
  );
}

function Rows({
  shown: { variables, total },
  search,
  setSearch,
  chosen,
  choose,
}: {
  shown: Variables;
  search: string;
  setSearch: (text: string) => void;
  chosen: string | undefined;
  choose: (name: string) => void;
}) {
  const wanted = search.toLowerCase();
  const found = variables.filter(
    ({ name, type }) => name.toLowerCase().includes(wanted) || type.toLowerCase().includes(wanted),
  );
  const [limit, more] = useShowMore(found.length, 200);
  if (total === 0) {
    return (
      <EmptyState title="There are no variables">
        <p>A run that assigns one shows it here, such as x = 42 in the console.</p>
      </EmptyState>
    );
  }
  return (
    <div class="panel">
      <div class="panel-bar">
        <input
          type="search"
          aria-label="Search variables"
          placeholder="Search name or type"
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
        <span class="quiet">
          {found.length === total ? plural(total, "variable") : `${found.length} of ${plural(total, "variable")}`}
          {total > variables.length ? `; the first ${variables.length} are listed` : ""}
        </span>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls has to be reachable with the keyboard */}
      <section class="scroll-x" tabIndex={0} aria-label="Table of variables">
        <table>
          <thead>
            <tr>
              <th class="name-column">Name</th>
              <th class="type-column">Type</th>
              <th class="number size-column">Size</th>
              <th>Value</th>
            </tr>
          </thead>
          <tbody>
            {found.slice(0, limit).map(({ name, type, size, summary }) => (
              <tr key={name}>
                <td>
                  <button
                    type="button"
                    class="row-name"
                    aria-pressed={name === chosen ? "true" : "false"}
                    onClick={() => choose(name)}
                  >
                    <code>{shownName(name)}</code>
                  </button>
                </td>
                <td class="any-text">{shownName(type, 80)}</td>
                <td class="number">{size === null ? "–" : formatBytes(size)}</td>
                <td>
                  <code class="summary">{shownName(summary, 240)}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {more}
    </div>
  );
}
