import { EmptyState } from "../parts/empty-state.tsx";
import { ErrorBox } from "../parts/error-box.tsx";
import { hasScope } from "../parts/load/scope.ts";
import { CopyLine } from "../parts/text/copy-line.tsx";
import { isAdmin } from "../state/service.ts";
import { ServiceFacts } from "./service-facts.tsx";
import { ServicePlots } from "./service-plots.tsx";
import "./service.css";
import { TenantsTable } from "./tenants-table.tsx";
import { useStatistics } from "./use-statistics.ts";

/** The whole service: what it is, what it does now, and who uses it. */
export function ServicePage() {
  const hasMetrics = hasScope("metrics");
  return (
    <>
      <h1>Service</h1>
      <ServiceFacts />
      {hasMetrics ? <Statistics /> : <NoMetrics />}
    </>
  );
}

function Statistics() {
  const { loaded, reload } = useStatistics();
  if (loaded.state === "failed") return <ErrorBox error={loaded.error} retry={reload} />;
  if (loaded.state === "loading") return <p class="quiet">Loading…</p>;
  const { samples, tenants, interval_ms } = loaded.value;
  return (
    <>
      {samples.length < 2 ? (
        <EmptyState title="No numbers yet">
          <p>
            The service takes a sample every {Math.round(interval_ms / 1000)} seconds. The first plots appear by
            themselves.
          </p>
        </EmptyState>
      ) : (
        <ServicePlots samples={samples} intervalMs={interval_ms} />
      )}
      {isAdmin.value ? <TenantsTable tenants={tenants} /> : null}
    </>
  );
}

function NoMetrics() {
  return (
    <EmptyState title="This token may not see the numbers of the service">
      <p>They need the scope “metrics”. Make a token that has it, and sign in with that one:</p>
      <CopyLine label="New token" text="codecell token create NAME --scopes run,metrics" />
    </EmptyState>
  );
}
