import { useEffect, useState } from "preact/hooks";
import { getJson, type SessionRef } from "../../api/client.ts";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorBox } from "../../parts/error-box.tsx";
import { useLoad } from "../../parts/load/use-load.ts";
import { useSessionEvents } from "../../parts/load/use-session-events.ts";
import { plural } from "../../parts/text/format.ts";
import { type AuditEntry, auditGroups, isAuditEvent, withLive } from "./audit-entry.ts";
import { auditKey } from "./audit-key.ts";
import { AuditTable } from "./audit-table.tsx";

interface Page {
  readonly entries: readonly AuditEntry[];
  readonly next: string;
  readonly more: boolean;
}

const pageSize = 200;
const maxLive = 1_000;
/** The service lists the last events, or pages from the first one. */
type Reading = { readonly from: "end"; readonly limit: number } | { readonly from: "start"; readonly pages: number };

/** The events of a session, newest first; new ones appear as they happen. */
export function AuditEvents({ session }: { session: SessionRef }) {
  const [group, setGroup] = useState("");
  const [search, setSearch] = useState("");
  const [reading, setReading] = useState<Reading>({ from: "end", limit: pageSize });
  const [live, setLive] = useState<readonly AuditEntry[]>([]);
  const { loaded, reload } = useLoad((signal) => readPages(session, group, reading, signal), [group, reading]);
  useEffect(() => setLive([]), [group, reading]);
  useSessionEvents(session, (event) => {
    const isWanted = isAuditEvent(event) && (group === "" || event.type.startsWith(`${group}.`));
    if (isWanted) setLive((all) => [...all, event as unknown as AuditEntry].slice(-maxLive));
  });
  const page = loaded.state === "ready" ? loaded.value : undefined;
  const isAtEnd = reading.from === "end" || page?.more === false;
  const all = page ? withLive(page.entries, isAtEnd ? live : []) : [];
  const wanted = search.trim().toLowerCase();
  const found = wanted === "" ? all : all.filter((entry) => JSON.stringify(entry).toLowerCase().includes(wanted));
  return (
    <>
      <div class="panel-bar">
        <label>
          Type{" "}
          <select value={group} onChange={(event) => setGroup(event.currentTarget.value)}>
            <option value="">all</option>
            {auditGroups.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <input
          type="search"
          aria-label="Search events"
          placeholder="Search events"
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
        <span class="quiet grows" role="status">
          {page ? plural(found.length, "event") : ""}
        </span>
        <Paging reading={reading} page={page} setReading={setReading} />
      </div>
      {loaded.state === "loading" ? <p class="quiet">Loading…</p> : null}
      {loaded.state === "failed" ? <ErrorBox error={loaded.error} retry={reload} /> : null}
      {page && all.length === 0 ? (
        <EmptyState title="There are no events">
          <p>{group === "" ? "What happens in the session appears here." : "No event of this type was recorded."}</p>
        </EmptyState>
      ) : null}
      {found.length > 0 ? <AuditTable entries={found.toReversed()} /> : null}
      {page && all.length > 0 && found.length === 0 ? <p class="quiet">No event matches the search.</p> : null}
    </>
  );
}

function Paging({
  reading,
  page,
  setReading,
}: {
  reading: Reading;
  page: Page | undefined;
  setReading: (reading: Reading) => void;
}) {
  if (reading.from === "start") {
    return (
      <>
        {page?.more ? (
          <button type="button" onClick={() => setReading({ from: "start", pages: reading.pages + 1 })}>
            Load more
          </button>
        ) : null}
        <button type="button" onClick={() => setReading({ from: "end", limit: pageSize })}>
          Show the last events
        </button>
      </>
    );
  }
  if (!page || page.entries.length < reading.limit) return null;
  return reading.limit < 1_000 ? (
    <button type="button" onClick={() => setReading({ from: "end", limit: 1_000 })}>
      Show older events
    </button>
  ) : (
    <button type="button" onClick={() => setReading({ from: "start", pages: 1 })}>
      Read from the first event
    </button>
  );
}

async function readPages(session: SessionRef, group: string, reading: Reading, signal: AbortSignal): Promise<Page> {
  const load = (more: Record<string, string>) => {
    const filter = { session: auditKey(session), ...(group === "" ? {} : { type: group }) };
    return getJson<Page>(`/v1/audit?${new URLSearchParams({ ...filter, ...more })}`, { signal });
  };
  if (reading.from === "end") return await load({ limit: String(reading.limit) });
  let page = await load({ from: "start", limit: "1000" });
  for (let count = 1; count < reading.pages && page.more; count++) {
    const next = await load({ after: page.next, limit: "1000" });
    page = { ...next, entries: [...page.entries, ...next.entries] };
  }
  return page;
}
