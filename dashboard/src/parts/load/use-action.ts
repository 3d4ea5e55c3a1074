import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type ApiError, asApiError } from "../../api/api-error.ts";

/** Something that a button does: whether it is under way, and how it failed. A second start while it is under way is ignored. */
export function useAction(): {
  readonly run: (action: (signal: AbortSignal) => Promise<void>) => Promise<boolean>;
  readonly isBusy: boolean;
  readonly error: ApiError | undefined;
  readonly dismiss: () => void;
} {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const leaving = useRef(new AbortController());
  const isUnderWay = useRef(false);
  useEffect(() => {
    const controller = new AbortController();
    leaving.current = controller;
    return () => controller.abort();
  }, []);
  const run = useCallback(async (action: (signal: AbortSignal) => Promise<void>) => {
    if (isUnderWay.current) return false;
    isUnderWay.current = true;
    setBusy(true);
    setError(undefined);
    const { signal } = leaving.current;
    try {
      await action(signal);
      return true;
    } catch (thrown) {
      if (!signal.aborted) setError(asApiError(thrown));
      return false;
    } finally {
      isUnderWay.current = false;
      if (!signal.aborted) setBusy(false);
    }
  }, []);
  const dismiss = useCallback(() => setError(undefined), []);
  return { run, isBusy, error, dismiss };
}
