import { useEffect, useState } from "preact/hooks";
import type { WireSession } from "../../../../src/service/wire/sessions/session.ts";
import { getJson, type SessionRef, sessionPath } from "../../api/client.ts";
import { type Loaded, useLoad } from "./use-load.ts";
import { useSessionEvents } from "./use-session-events.ts";

/** A session as it is now: loaded once, then as the events of the service tell. It never starts a cell. */
export function useSession(session: SessionRef): {
  readonly loaded: Loaded<WireSession>;
  readonly reload: () => void;
} {
  const { loaded, reload } = useLoad(
    (signal) => getJson<WireSession>(sessionPath(session), { signal }),
    [session.id, session.namespace],
  );
  const [changed, setChanged] = useState<Partial<WireSession>>({});
  useEffect(() => setChanged({}), [loaded]);
  useSessionEvents(session, ({ type, session: now }) => {
    if (type === "session.changed") setChanged(now as Partial<WireSession>);
    else if (type === "run.started") setChanged((before) => ({ ...before, busy: true }));
    else if (type === "run.ended") setChanged((before) => ({ ...before, busy: false }));
  });
  return { loaded: loaded.state === "ready" ? { ...loaded, value: { ...loaded.value, ...changed } } : loaded, reload };
}
