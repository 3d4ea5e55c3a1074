import "../../parts/panel.css";
import "./receipt.css";
import type { SessionRef } from "../../api/client.ts";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorBox } from "../../parts/error-box.tsx";
import { useLoad } from "../../parts/load/use-load.ts";
import { useSession } from "../../parts/load/use-session.ts";
import { useStart } from "../../parts/load/use-start.ts";
import { loadReceipt } from "./load-receipt.ts";
import { ReceiptView } from "./receipt-view.tsx";

/** What enforces each rule of the session's policy. Looking at it does not start a cell. */
export function ReceiptPanel({ session }: { session: SessionRef }) {
  const { loaded, reload } = useSession(session);
  if (loaded.state === "loading") return <p class="quiet">Loading…</p>;
  if (loaded.state === "failed") return <ErrorBox error={loaded.error} retry={reload} />;
  const { state, policy_hash } = loaded.value;
  return <Receipt session={session} hasCell={state === "live"} policy={policy_hash} onStarted={reload} />;
}

function Receipt({
  session,
  hasCell,
  policy,
  onStarted,
}: {
  session: SessionRef;
  hasCell: boolean;
  policy: string | null;
  onStarted: () => void;
}) {
  const { loaded, reload } = useLoad(
    (signal) => loadReceipt(session, hasCell, signal),
    [session.id, session.namespace, hasCell, policy], // another policy has another receipt
  );
  const { start, isBusy, error } = useStart(session, onStarted);
  const starting = (
    <>
      <button type="button" onClick={start} disabled={isBusy}>
        {isBusy ? "Starting…" : "Start the cell to see the receipt"}
      </button>
      {error ? <ErrorBox error={error} /> : null}
    </>
  );
  if (loaded.state === "loading") return <p class="quiet">Loading…</p>;
  if (loaded.state === "failed") return <ErrorBox error={loaded.error} retry={reload} />;
  const found = loaded.value;
  if (found.of === "none") {
    return (
      <EmptyState title="This session has no cell">
        <p>A receipt says what enforces each rule in a cell.</p>
        <div>{starting}</div>
      </EmptyState>
    );
  }
  return (
    <>
      {found.of === "run" ? (
        <div class="panel-bar">
          <span class="panel-notice">This is the receipt of the last run: the session has no cell now.</span>
          {starting}
        </div>
      ) : null}
      <ReceiptView receipt={found.receipt} />
    </>
  );
}
