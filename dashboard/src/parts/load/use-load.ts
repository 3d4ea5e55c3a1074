import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type ApiError, asApiError } from "../../api/api-error.ts";
import { generation } from "../../state/service.ts";

export type Loaded<T> =
  | { readonly state: "loading" }
  | { readonly state: "ready"; readonly value: T }
  | { readonly state: "failed"; readonly error: ApiError };

/**
 * Loads data for a panel: at first, when `inputs` change, when events were lost, and when `reload` is called. A new load keeps
 * the old value on the screen, and a late answer of an older load is dropped.
 */
export function useLoad<T>(
  load: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[],
): { readonly loaded: Loaded<T>; readonly reload: () => void } {
  const [loaded, setLoaded] = useState<Loaded<T>>({ state: "loading" });
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    const leaving = new AbortController();
    latest.current(leaving.signal).then(
      (value) => {
        if (!leaving.signal.aborted) setLoaded({ state: "ready", value });
      },
      (thrown: unknown) => {
        if (!leaving.signal.aborted) setLoaded({ state: "failed", error: asApiError(thrown) });
      },
    );
    return () => leaving.abort();
  }, [...inputs, round, generation.value]);
  const reload = useCallback(() => setRound((now) => now + 1), []);
  return { loaded, reload };
}
