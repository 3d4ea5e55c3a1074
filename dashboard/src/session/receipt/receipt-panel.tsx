import "../../parts/panel.css";
import "./receipt.css";
import { useState } from "preact/hooks";
import type { SessionRef } from "../../api/client.ts";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorBox } from "../../parts/error-box.tsx";
import { useLoad } from "../../parts/load/use-load.ts";
import { useSession } from "../../parts/load/use-session.ts";
import { loadReceipt } from "./load-receipt.ts";
import { ReceiptView } from "./receipt-view.tsx";

/** What enforces each rule of the session's policy. Looking at it does not start a cell. */
export function ReceiptPanel({ session }: { session: SessionRef }) {
  const { loaded, reload } = useSession(session);
  if (loaded.state === "loading") return <p class="quiet">Loading…</p>;
  if (loaded.state === "failed") return <ErrorBox error={loaded.error} retry={reload} />;
  return <Receipt session={session} hasCell={loaded.value.state === "live"} policy={loaded.value.policy_hash} />;
}

function Receipt({ session, hasCell, policy }: { session: SessionRef; hasCell: boolean; policy: string | null }) {
  const [mayStart, setMayStart] = useState(false);
  const { loaded, reload } = useLoad(
    (signal) => loadReceipt(session, hasCell, mayStart, signal),
    [session.id, session.namespace, hasCell, mayStart, policy], // another policy has another receipt
  );
  const start = (
    <button type="button" onClick={() => setMayStart(true)}>
      Start the cell to see the receipt
    </button>
  );
  if (loaded.state === "loading") return <p class="quiet">Loading…</p>;
  if (loaded.state === "failed") return <ErrorBox error={loaded.error} retry={reload} />;
  const found = loaded.value;
  if (found.of === "none") {
    return (
      <EmptyState title="This session has no cell">
        <p>A receipt says what enforces each rule in a cell.</p>
        <p>{start}</p>
      </EmptyState>
    );
  }
  return (
    <>
      {found.of === "run" ? (
        <div class="panel-bar">
          <span class="panel-notice">This is the receipt of the last run: the session has no cell now.</span>
          {start}
        </div>
      ) : null}
      <ReceiptView receipt={found.receipt} />
    </>
  );
}
