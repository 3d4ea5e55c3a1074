import { useCallback } from "preact/hooks";
import type { ApiError } from "../../api/api-error.ts";
import { call, type SessionRef, sessionPath } from "../../api/client.ts";
import { useAction } from "./use-action.ts";

/**
 * Starts the cell of a saved session, once for each press of a button. A page that remembered the wish would start the cell
 * again whenever somebody else saves the session.
 */
export function useStart(
  session: SessionRef,
  onStarted: () => void,
): { readonly start: () => void; readonly isBusy: boolean; readonly error: ApiError | undefined } {
  const { run, isBusy, error } = useAction();
  const start = useCallback(() => {
    void run(async (signal) => {
      await call(sessionPath(session, "/restore"), { method: "POST", signal });
      onStarted();
    });
  }, [session.id, session.namespace, onStarted]);
  return { start, isBusy, error };
}
