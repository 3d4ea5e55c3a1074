import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError } from "../../api/api-error.ts";
import type { SessionRef } from "../../api/client.ts";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorBox } from "../../parts/error-box.tsx";
import { useSessionEvents } from "../../parts/load/use-session-events.ts";
import { plural } from "../../parts/text/format.ts";
import { generation } from "../../state/service.ts";
import { Console } from "./console.tsx";
import { ExportLinks } from "./export-links.tsx";
import { RunCard } from "./run-card.tsx";
import "./timeline.css";
import { mostRuns, Timeline } from "./timeline.ts";
import type { TimelineRun } from "./timeline-run.ts";
import { useFollowEnd } from "./use-follow-end.ts";

/** The runs of a session as they happen, and the console. */
export function TimelinePanel({ session }: { session: SessionRef }) {
  const timeline = useMemo(() => new Timeline(session), [session.id, session.namespace]);
  useEffect(() => () => timeline[Symbol.dispose](), [timeline]);
  useEffect(() => void timeline.load(), [timeline, generation.value]);
  useSessionEvents(session, (event) => timeline.take(event));
  const [query, setQuery] = useState("");
  const loading = timeline.loading.value;
  const runs = timeline.runs.value;
  const wanted = query.trim().toLowerCase();
  const found = useMemo(() => (wanted === "" ? runs : runs.filter((run) => run.contains(wanted))), [runs, wanted]);
  const list = useRef<HTMLDivElement>(null);
  useFollowEnd(list, loading === "ready" && wanted === "");
  return (
    <>
      <div class="timeline-tools">
        <input
          type="search"
          aria-label="Search runs by code or output"
          placeholder="Search code and output"
          value={query}
          onInput={(event) => setQuery(event.currentTarget.value)}
        />
        <span class="quiet" role="status">
          {wanted === "" ? plural(runs.length, "run") : `${found.length} of ${plural(runs.length, "run")}`}
        </span>
        <ExportLinks session={session} />
      </div>
      {loading instanceof ApiError ? <ErrorBox error={loading} retry={() => void timeline.load()} /> : null}
      <div ref={list}>
        {loading === "ready" && runs.length === 0 ? (
          <EmptyState title="No runs yet">
            <p class="quiet">
              Write code below and press Shift+Enter, or let an agent use this session: its runs appear here.
            </p>
          </EmptyState>
        ) : null}
        {timeline.hasEarlier.value ? (
          <p class="fold">
            <button type="button" onClick={() => void timeline.load(mostRuns)}>
              Show earlier runs
            </button>
          </p>
        ) : null}
        {loading === "loading" ? <p class="quiet">Loading the runs…</p> : <RunList session={session} runs={found} />}
      </div>
      <Console timeline={timeline} />
    </>
  );
}

/** The latest runs are painted first: they are what the user sees. */
const firstCards = 30;

/** The cards. One that is drawn already is not looked at again: each draws itself when its run changes. */
function RunList({ session, runs }: { session: SessionRef; runs: readonly TimelineRun[] }) {
  const drawn = useRef(new WeakMap<TimelineRun, preact.VNode>());
  const [isWhole, setWhole] = useState(false);
  useEffect(() => {
    if (runs.length === 0) return;
    performance.mark("codecell.runs"); // after they were painted
    setWhole(true);
  }, [runs.length > 0]);
  const card = (run: TimelineRun) => {
    const known = drawn.current.get(run) ?? <RunCard key={run.key} session={session} run={run} />;
    drawn.current.set(run, known);
    return known;
  };
  if (runs.length === 0) return null;
  return (
    <ol class="runs" aria-label="Runs">
      {(isWhole ? runs : runs.slice(-firstCards)).map(card)}
    </ol>
  );
}
