import { useEffect, useRef } from "preact/hooks";
import type { SessionRef } from "../../api/client.ts";
import type { ServiceEvent } from "../../api/service-events.ts";
import { me, onEvent } from "../../state/service.ts";

/** Calls `listener` for each event of one session while the component is on the screen. */
export function useSessionEvents(session: SessionRef, listener: (event: ServiceEvent) => void): void {
  const latest = useRef(listener);
  latest.current = listener;
  const { id, namespace } = session;
  useEffect(
    () =>
      onEvent((event) => {
        const own = me.peek()?.namespace;
        const isSame = event.session_id === id && (event.namespace ?? own) === (namespace ?? own);
        if (isSame) latest.current(event);
      }),
    [id, namespace],
  );
}
