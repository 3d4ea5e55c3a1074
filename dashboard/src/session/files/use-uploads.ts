import { useEffect, useRef, useState } from "preact/hooks";
import { type ApiError, asApiError } from "../../api/api-error.ts";
import type { SessionRef } from "../../api/client.ts";
import { filePath } from "./file-path.ts";
import { uploadFile } from "./upload-file.ts";

/** One file on its way. */
export interface Upload {
  readonly key: number;
  readonly path: string;
  readonly size: number;
  readonly status:
    | { readonly state: "waiting" }
    | { readonly state: "sending"; readonly sent: number }
    | { readonly state: "done" }
    | { readonly state: "failed"; readonly error: ApiError };
}

/** Files to upload, one after the other, and how each of them goes. Leaving the panel stops them. */
export function useUploads(session: SessionRef, onDone: () => void) {
  const [uploads, setUploads] = useState<readonly Upload[]>([]);
  const leaving = useRef(new AbortController());
  const turn = useRef<Promise<void>>(Promise.resolve());
  const nextKey = useRef(0);
  useEffect(() => {
    const controller = new AbortController();
    leaving.current = controller;
    return () => controller.abort();
  }, []);

  const start = (files: readonly { readonly path: string; readonly file: File }[]) => {
    const { signal } = leaving.current;
    for (const { path, file } of files) {
      const key = nextKey.current++;
      const update = (status: Upload["status"]) => {
        if (!signal.aborted) setUploads((all) => all.map((one) => (one.key === key ? { ...one, status } : one)));
      };
      setUploads((all) => [...all, { key, path, size: file.size, status: { state: "waiting" } }]);
      turn.current = turn.current.then(async () => {
        if (signal.aborted) return;
        update({ state: "sending", sent: 0 });
        try {
          await uploadFile(filePath(session, path), file, {
            signal,
            onProgress: (sent) => update({ state: "sending", sent }),
          });
          update({ state: "done" });
          if (!signal.aborted) onDone();
        } catch (thrown) {
          update({ state: "failed", error: asApiError(thrown) });
        }
      });
    }
  };
  return { uploads, start, clear: () => setUploads((all) => all.filter(isUnderWay)) };
}

export function isUnderWay({ status: { state } }: Upload): boolean {
  return state === "waiting" || state === "sending";
}
