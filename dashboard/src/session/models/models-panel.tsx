import { useState } from "preact/hooks";
import { getJson, type SessionRef, sessionPath } from "../../api/client.ts";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorBox } from "../../parts/error-box.tsx";
import { useLiveLoad } from "../../parts/load/use-live-load.ts";
import { CopyLine } from "../../parts/text/copy-line.tsx";
import { me } from "../../state/service.ts";
import { CallTree } from "./call-tree.tsx";
import type { SessionModels } from "./model-calls.ts";
import "./models.css";
import { SpendGauges } from "./spend-gauges.tsx";
import { TrajectoryList } from "./trajectory-list.tsx";
import { TrajectoryView } from "./trajectory-view.tsx";

/** What the session spent on models, who called them, and what sub-agents did. */
export function ModelsPanel({ session }: { session: SessionRef }) {
  const { loaded, reload } = useLiveLoad(
    session,
    (signal) => getJson<SessionModels>(sessionPath(session, "/models"), { signal }),
    ({ type }) => type === "model.call" || type === "run.ended",
  );
  const [open, setOpen] = useState<string>();
  if (loaded.state === "failed") return <ErrorBox error={loaded.error} retry={reload} />;
  if (loaded.state === "loading") return <p class="quiet">Loading…</p>;
  const { spend, calls, trajectories } = loaded.value;
  if (calls.length === 0 && trajectories.length === 0 && spend.calls === 0) return <NoCalls />;
  return (
    <>
      <SpendGauges spend={spend} />
      {trajectories.length === 0 ? null : <TrajectoryList trajectories={trajectories} open={open} onOpen={setOpen} />}
      {open === undefined ? null : <TrajectoryView key={open} session={session} id={open} />}
      <CallTree calls={calls} />
    </>
  );
}

function NoCalls() {
  const models = me.value?.service.models ?? [];
  if (models.length > 0) {
    return (
      <EmptyState title="No model was called yet">
        <p>
          Code in this session may call <code>llm_query()</code>. Each call appears here with its cost.
        </p>
      </EmptyState>
    );
  }
  return (
    <EmptyState title="Models are off">
      <p>
        The policy key <code>llm.models</code> names the models that code may call, and the environment of the service
        has the key of their provider, such as <code>ANTHROPIC_API_KEY</code> or <code>OPENAI_API_KEY</code>:
      </p>
      <pre class="policy-lines">{"llm:\n  models: [anthropic/claude-*]\n  usd: 0.5"}</pre>
      <CopyLine label="Then" text="ANTHROPIC_API_KEY=… codecell serve --policy sandbox.policy.yaml" />
    </EmptyState>
  );
}
