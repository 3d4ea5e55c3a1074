import { useSignal } from "@preact/signals";
import { ErrorBox } from "../parts/error-box.tsx";
import { hasScope } from "../parts/load/scope.ts";
import { FirstSession } from "./first-session.tsx";
import { firstView, type View } from "./list-order.ts";
import { NewSession } from "./new-session.tsx";
import { SessionFilters } from "./session-filters.tsx";
import "./sessions.css";
import { SessionsTable } from "./sessions-table.tsx";
import { useSessions } from "./use-sessions.ts";

/** All sessions that the token may see. */
export function SessionsPage() {
  const { list, loaded, reload } = useSessions();
  const view = useSignal<View>(firstView);
  const canRun = hasScope("run");
  const isEmpty = list.rows.value.length === 0;
  return (
    <>
      <div class="page-head">
        <h1>Sessions</h1>
        {canRun ? <NewSession /> : null}
      </div>
      {loaded.state === "failed" ? <ErrorBox error={loaded.error} retry={reload} /> : null}
      {loaded.state === "loading" ? <p class="quiet">Loading…</p> : null}
      {isEmpty && loaded.state === "ready" ? <FirstSession /> : null}
      {isEmpty ? null : (
        <>
          <SessionFilters list={list} view={view} />
          <SessionsTable list={list} view={view} />
        </>
      )}
    </>
  );
}
