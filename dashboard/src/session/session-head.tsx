import { useEffect, useState } from "preact/hooks";
import type { WireSession } from "../../../src/service/wire/sessions/session.ts";
import { getJson, type SessionRef, sessionPath } from "../api/client.ts";
import { ErrorBox } from "../parts/error-box.tsx";
import { useLoad } from "../parts/load/use-load.ts";
import { useSessionEvents } from "../parts/load/use-session-events.ts";
import { Sparkline } from "../parts/plot/sparkline.tsx";
import { Ago } from "../parts/text/ago.tsx";
import { formatBytes, plural } from "../parts/text/format.ts";
import { shownName } from "../parts/text/shown-name.ts";
import type { PanelName } from "../state/route.ts";
import { canRun } from "../state/service.ts";
import { SessionActions } from "./session-actions.tsx";
import "./session-head.css";

const badgeOf: Readonly<Record<string, string>> = { live: "ok", saved: "info", damaged: "bad" };

/** Name and state of the session, and what can be done with it. */
export function SessionHead({
  session,
  panel,
  onMissing,
}: {
  session: SessionRef;
  panel: PanelName;
  /** told whether there is no such session, or no longer */
  onMissing: (isMissing: boolean) => void;
}) {
  const { loaded, reload } = useLoad(
    (signal) => getJson<WireSession>(sessionPath(session), { signal }),
    [session.id, session.namespace],
  );
  const [changed, setChanged] = useState<WireSession>();
  useSessionEvents(session, (event) => {
    if (event.type === "session.changed") setChanged(event.session as WireSession);
    else if (event.type === "session.closed") reload();
  });
  useEffect(() => setChanged(undefined), [loaded]); // what was loaded is newer
  const isMissing = loaded.state === "failed" && loaded.error.code === "session_unknown";
  useEffect(() => onMissing(isMissing), [isMissing]);
  const now = changed ?? (loaded.state === "ready" ? loaded.value : undefined);
  return (
    <div class="session-head">
      <h1>{shownName(session.id)}</h1>
      {now ? <Facts session={session} now={now} /> : null}
      {loaded.state === "failed" && !isMissing ? <ErrorBox error={loaded.error} retry={reload} /> : null}
      {now && canRun.value ? (
        <SessionActions session={session} now={now} hasCheckpoints={panel === "checkpoints"} changed={reload} />
      ) : null}
    </div>
  );
}

function Facts({ session, now }: { session: SessionRef; now: WireSession }) {
  return (
    <ul class="facts">
      {session.namespace === undefined ? null : (
        <li>
          Namespace <code>{shownName(session.namespace)}</code>
          {now.tenant === undefined ? null : ` (${shownName(now.tenant)})`}
        </li>
      )}
      <li>
        <span class={`badge ${badgeOf[now.state] ?? ""}`}>{now.state}</span>{" "}
        {now.busy && now.state === "live" ? <span class="badge info pulse">running</span> : null}
      </li>
      <li>{shownName(now.runner ?? "unknown runner")}</li>
      <li>{plural(now.runs ?? 0, "run")}</li>
      <li>{now.persistent ? "persistent" : "not persistent"}</li>
      {now.policy_hash === null || now.policy_hash === undefined ? null : (
        <li>
          Policy <code title={now.policy_hash}>{now.policy_hash.slice(0, 8)}</code>
        </li>
      )}
      <li>
        Created <Ago at={now.created_at} />
      </li>
      <li>
        Used <Ago at={now.used_at} />
      </li>
      <Usage session={session} />
      {now.problem === null ? null : <li class="bad-text">{shownName(now.problem, 300)}</li>}
    </ul>
  );
}

interface Sample {
  readonly cpu_percent: number | null;
  readonly memory_bytes: number | null;
}
const mostSamples = 60;

/** CPU and memory of the last minutes. */
function Usage({ session }: { session: SessionRef }) {
  const { loaded } = useLoad(
    (signal) => getJson<{ samples: Sample[] }>(sessionPath(session, "/usage"), { signal }),
    [session.id, session.namespace],
  );
  const [later, setLater] = useState<readonly Sample[]>([]);
  useEffect(() => setLater([]), [loaded]);
  useSessionEvents(session, (event) => {
    if (event.type !== "usage") return;
    setLater((before) => [...before, event as unknown as Sample].slice(-mostSamples));
  });
  const first = loaded.state === "ready" ? loaded.value.samples : [];
  const samples = [...first, ...later].slice(-mostSamples);
  const last = samples.at(-1);
  if (!last) return null;
  return (
    <>
      {last.cpu_percent === null ? null : (
        <li>
          CPU {Math.round(last.cpu_percent)}% <Sparkline values={samples.map((one) => one.cpu_percent)} max={100} />
        </li>
      )}
      {last.memory_bytes === null ? null : (
        <li>
          Memory {formatBytes(last.memory_bytes)} <Sparkline values={samples.map((one) => one.memory_bytes)} />
        </li>
      )}
    </>
  );
}
