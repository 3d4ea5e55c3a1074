import { useState } from "preact/hooks";
import { getJson, type SessionRef, sessionPath } from "../../api/client.ts";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorBox } from "../../parts/error-box.tsx";
import { useLiveLoad } from "../../parts/load/use-live-load.ts";
import { CopyLine } from "../../parts/text/copy-line.tsx";
import { plural } from "../../parts/text/format.ts";
import "./network.css";
import { type NetworkFilter, type NetworkLog, shownEntries } from "./network-log.ts";
import { NetworkTable } from "./network-table.tsx";

/** What the session asked the network for, and which rule decided. */
export function NetworkPanel({ session }: { session: SessionRef }) {
  const { loaded, reload } = useLiveLoad(
    session,
    (signal) => getJson<NetworkLog>(sessionPath(session, "/network"), { signal }),
    ({ type }) => type.startsWith("egress.") || type === "run.ended" || type === "policy.changed",
  );
  const [filter, setFilter] = useState<NetworkFilter>({ search: "", verdict: "" });
  if (loaded.state === "failed") return <ErrorBox error={loaded.error} retry={reload} />;
  if (loaded.state === "loading") return <p class="quiet">Loading…</p>;
  const { enabled, entries, dropped } = loaded.value;
  if (entries.length === 0) return enabled ? <NothingAsked /> : <Closed />;
  const shown = shownEntries(entries, filter);
  return (
    <>
      {enabled ? null : <Closed />}
      <search class="filters">
        <input
          type="search"
          aria-label="Search the network log"
          placeholder="Host, rule or run"
          value={filter.search}
          onInput={(event) => setFilter({ ...filter, search: event.currentTarget.value })}
        />
        <select
          aria-label="Filter by verdict"
          value={filter.verdict}
          onChange={(event) => setFilter({ ...filter, verdict: event.currentTarget.value as NetworkFilter["verdict"] })}
        >
          <option value="">Allowed and refused</option>
          <option value="allowed">Allowed</option>
          <option value="denied">Refused</option>
        </select>
        <span class="quiet" role="status">
          {plural(shown.length, "connection")}
          {dropped === 0 ? "" : `; ${plural(dropped, "older one")} no longer kept`}
        </span>
      </search>
      <NetworkTable entries={shown} />
    </>
  );
}

function NothingAsked() {
  return (
    <EmptyState title="No connection yet">
      <p>
        The network is open to the hosts of the policy. Every connection that code asks for appears here, refused ones
        too.
      </p>
    </EmptyState>
  );
}

function Closed() {
  return (
    <EmptyState title="The network is closed">
      <p>
        Code in this session reaches no host. To open it to one host, add this to the policy file and open a new
        session:
      </p>
      <pre class="policy-lines">{"net:\n  enabled: true\n  allowlist: [api.example.com]"}</pre>
      <CopyLine label="Then" text="codecell serve --policy sandbox.policy.yaml" />
    </EmptyState>
  );
}
