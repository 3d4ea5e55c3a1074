import type { ComponentChildren } from "preact";
import type { WireSession } from "../../../../src/service/wire/sessions/session.ts";
import type { SessionRef } from "../../api/client.ts";
import { EmptyState } from "../empty-state.tsx";
import { ErrorBox } from "../error-box.tsx";
import { hasScope } from "./scope.ts";
import { useSession } from "./use-session.ts";
import { useStart } from "./use-start.ts";

/** Shows what needs a cell, such as files and variables. Looking at a saved session must not start one, so it is asked about first. */
export function WithCell({
  session,
  what,
  children,
}: {
  session: SessionRef;
  /** what needs the cell, such as `variables` */
  what: string;
  children: (now: WireSession) => ComponentChildren;
}) {
  const { loaded, reload } = useSession(session);
  if (loaded.state === "loading") return <p class="quiet">Loading…</p>;
  if (loaded.state === "failed") return <ErrorBox error={loaded.error} retry={reload} />;
  if (loaded.value.state === "live") return <>{children(loaded.value)}</>;
  return <NoCell {...{ session, what, state: loaded.value.state }} onLoaded={reload} />;
}

function NoCell({
  session,
  what,
  state,
  onLoaded,
}: {
  session: SessionRef;
  what: string;
  state: string;
  onLoaded: () => void;
}) {
  const { start, isBusy, error } = useStart(session, onLoaded);
  if (state !== "saved") {
    return (
      <EmptyState title={`This session is ${state}`}>
        <p>Its {what} cannot be read.</p>
      </EmptyState>
    );
  }
  return (
    <EmptyState title="This session is saved on disk">
      <p>Its {what} can be read when it is loaded into a cell.</p>
      {hasScope("run") ? (
        <p>
          <button type="button" onClick={start} disabled={isBusy}>
            {isBusy ? "Loading…" : "Load it"}
          </button>
        </p>
      ) : (
        <p>This needs a token with the scope run.</p>
      )}
      {error ? <ErrorBox error={error} /> : null}
    </EmptyState>
  );
}
