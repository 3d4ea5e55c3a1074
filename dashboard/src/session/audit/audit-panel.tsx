import "../../parts/panel.css";
import "./audit.css";
import type { SessionRef } from "../../api/client.ts";
import { EmptyState } from "../../parts/empty-state.tsx";
import { hasScope } from "../../parts/load/scope.ts";
import { me } from "../../state/service.ts";
import { AuditEvents } from "./audit-events.tsx";
import { VerifyState } from "./verify-state.tsx";

/** The audit of a session, and whether it is as it was written. */
export function AuditPanel({ session }: { session: SessionRef }) {
  if (me.value?.service.audit === false) {
    return (
      <EmptyState title="This service writes no audit">
        <p>
          Set <code>audit.enabled: true</code> in its policy and start it again.
        </p>
      </EmptyState>
    );
  }
  if (!hasScope("audit")) {
    return (
      <EmptyState title="This token may not read the audit">
        <p>
          It needs the scope <code>audit</code>: <code>codecell token create NAME --scopes run,audit</code>
        </p>
      </EmptyState>
    );
  }
  return (
    <>
      <VerifyState session={session} />
      <AuditEvents key={`${session.namespace}/${session.id}`} session={session} />
    </>
  );
}
