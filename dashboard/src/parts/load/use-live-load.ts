import { useEffect, useRef } from "preact/hooks";
import type { SessionRef } from "../../api/client.ts";
import type { ServiceEvent } from "../../api/service-events.ts";
import { type Loaded, useLoad } from "./use-load.ts";
import { useSessionEvents } from "./use-session-events.ts";

const gatherMs = 250;

/** Loads data of a session, and again after events that change it: many events together cause one load. */
export function useLiveLoad<T>(
  session: SessionRef,
  load: (signal: AbortSignal) => Promise<T>,
  changes: (event: ServiceEvent) => boolean,
): { readonly loaded: Loaded<T>; readonly reload: () => void } {
  const { loaded, reload } = useLoad(load, [session.id, session.namespace]);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useSessionEvents(session, (event) => {
    if (timer.current !== undefined || !changes(event)) return;
    timer.current = setTimeout(() => {
      timer.current = undefined;
      reload();
    }, gatherMs);
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  return { loaded, reload };
}
