import type { WireSessionUsage } from "../../../../src/service/wire/sessions/session-usage.ts";
import { getJson, type SessionRef, sessionPath } from "../../api/client.ts";
import { ErrorBox } from "../../parts/error-box.tsx";
import { useLiveLoad } from "../../parts/load/use-live-load.ts";
import { LimitGauges } from "./limit-gauges.tsx";
import "./limits.css";
import { RunUsageTable } from "./run-usage-table.tsx";
import { UsagePlots } from "./usage-plots.tsx";

/** How much the session uses of what its policy allows: now, over time, and by run. */
export function LimitsPanel({ session }: { session: SessionRef }) {
  const { loaded, reload } = useLiveLoad(
    session,
    (signal) => getJson<WireSessionUsage>(sessionPath(session, "/usage"), { signal }),
    ({ type }) => type === "usage" || type === "run.ended" || type === "session.changed",
  );
  if (loaded.state === "failed") return <ErrorBox error={loaded.error} retry={reload} />;
  if (loaded.state === "loading") return <p class="quiet">Loading…</p>;
  return (
    <>
      <LimitGauges usage={loaded.value} />
      <UsagePlots samples={loaded.value.samples} />
      <RunUsageTable runs={loaded.value.runs} />
    </>
  );
}
