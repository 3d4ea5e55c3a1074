import type { WireTenantStatistics } from "../../../src/surfaces/http/tenant-statistics.ts";
import { numbers, TableHead } from "../parts/table-head.tsx";
import { formatCount } from "../parts/text/format.ts";
import { formatUsd } from "../parts/text/or-dash.ts";
import { shownName } from "../parts/text/shown-name.ts";

/** Who uses the service, busiest first. */
export function TenantsTable({ tenants }: { tenants: readonly WireTenantStatistics[] }) {
  const sorted = [...tenants].sort((a, b) => b.runs - a.runs);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls has to be reachable with the keyboard
    <section class="card scroll-x" tabIndex={0} aria-label="Tenants">
      <h2>Tenants</h2>
      <table>
        <TableHead columns={["Tenant", "Namespace", ...numbers("Sessions", "Running", "Runs", "Refused", "Spent")]} />
        <tbody>
          {sorted.map(({ namespace, tenant, sessions, running, runs, refused, cost_usd }) => (
            <tr key={namespace}>
              <th scope="row">{tenant === null ? "(token removed)" : shownName(tenant)}</th>
              <td>
                <code>{shownName(namespace)}</code>
              </td>
              <td class="number">{formatCount(sessions)}</td>
              <td class="number">{formatCount(running)}</td>
              <td class="number">{formatCount(runs)}</td>
              <td class="number">{formatCount(refused)}</td>
              <td class="number">{formatUsd(cost_usd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
