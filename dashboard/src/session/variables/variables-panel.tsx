import "../../parts/panel.css";
import "./variables.css";
import type { SessionRef } from "../../api/client.ts";
import { WithCell } from "../../parts/load/with-cell.tsx";
import { VariableTable } from "./variable-table.tsx";

/** The variables of a session. */
export function VariablesPanel({ session }: { session: SessionRef }) {
  return (
    <WithCell session={session} what="variables">
      {({ busy }) => <VariableTable session={session} isBusy={busy === true} />}
    </WithCell>
  );
}
