import { useState } from "preact/hooks";
import type { SessionRef } from "../api/client.ts";
import { EmptyState } from "../parts/empty-state.tsx";
import { Fenced } from "../parts/fenced.tsx";
import { hrefOf, type PanelName, panels } from "../state/route.ts";
import { AuditPanel } from "./audit/audit-panel.tsx";
import { CheckpointsPanel } from "./checkpoints/checkpoints-panel.tsx";
import { FilesPanel } from "./files/files-panel.tsx";
import { LimitsPanel } from "./limits/limits-panel.tsx";
import { ModelsPanel } from "./models/models-panel.tsx";
import { NetworkPanel } from "./network/network-panel.tsx";
import { ReceiptPanel } from "./receipt/receipt-panel.tsx";
import { SessionHead } from "./session-head.tsx";
import { TimelinePanel } from "./timeline/timeline-panel.tsx";
import { VariablesPanel } from "./variables/variables-panel.tsx";

const shown: Record<PanelName, (props: { session: SessionRef }) => preact.ComponentChildren> = {
  timeline: TimelinePanel,
  variables: VariablesPanel,
  files: FilesPanel,
  checkpoints: CheckpointsPanel,
  network: NetworkPanel,
  limits: LimitsPanel,
  receipt: ReceiptPanel,
  models: ModelsPanel,
  audit: AuditPanel,
};

/** One session: its head, its tabs, and the panel that the address names. */
export function SessionPage({ session, panel }: { session: SessionRef; panel: PanelName }) {
  const [isMissing, setMissing] = useState(false);
  return (
    <>
      <SessionHead session={session} panel={panel} onMissing={setMissing} />
      {isMissing ? <MissingSession /> : <Panels session={session} panel={panel} />}
    </>
  );
}

/** It was closed, or the link is of another token. */
function MissingSession() {
  return (
    <EmptyState title="There is no such session">
      <p class="quiet">It was closed or has expired, or it belongs to another token.</p>
      <p>
        <a href={hrefOf({ page: "sessions" })}>All sessions</a>
      </p>
    </EmptyState>
  );
}

function Panels({ session, panel }: { session: SessionRef; panel: PanelName }) {
  const Panel = shown[panel];
  return (
    <>
      <nav class="tabs" aria-label="Parts of the session">
        {panels.map((name) => (
          <a
            key={name}
            href={hrefOf({ page: "session", session, panel: name })}
            aria-current={name === panel ? "page" : undefined}
          >
            {name[0]?.toUpperCase()}
            {name.slice(1)}
          </a>
        ))}
      </nav>
      <section class={`panel ${panel}`} aria-label={panel}>
        <Fenced key={panel}>
          <Panel session={session} />
        </Fenced>
      </section>
    </>
  );
}
