import { useEffect, useMemo } from "preact/hooks";
import { getJson } from "../api/client.ts";
import { type Loaded, useLoad } from "../parts/load/use-load.ts";
import { isAdmin, onEvent } from "../state/service.ts";
import { type ListedSession, SessionRows, type SessionUsage } from "./session-rows.ts";

const gatherMs = 150;

/** The sessions that this token may see, as they change. */
export function useSessions(): {
  readonly list: SessionRows;
  readonly loaded: Loaded<true>;
  readonly reload: () => void;
} {
  const list = useMemo(() => new SessionRows(), []);
  const query = isAdmin.value ? "?namespaces=all" : "";
  const { loaded, reload } = useLoad(
    async (signal) => {
      const [{ sessions }, usage] = await Promise.all([
        getJson<{ sessions: ListedSession[] }>(`/v1/sessions${query}`, { signal }),
        getJson<{ sessions: SessionUsage[] }>(`/v1/usage${query}`, { signal }),
      ]);
      list.setSessions(sessions);
      list.setUsage(usage.sessions);
      return true as const;
    },
    [query],
  );
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = onEvent((event) => {
      if (list.take(event) !== "reload" || timer !== undefined) return;
      timer = setTimeout(() => {
        timer = undefined;
        reload();
      }, gatherMs);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [list]);
  return { list, loaded, reload };
}
