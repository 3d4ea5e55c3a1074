import { call, type SessionRef, sessionPath } from "../../api/client.ts";
import { saveBlob } from "../../parts/load/save-file.ts";
import { useAction } from "../../parts/load/use-action.ts";

/** Fetches the runs of a session as a notebook, with the token, and saves it. */
export async function exportNotebook(session: SessionRef, signal: AbortSignal): Promise<void> {
  const response = await call(sessionPath(session, "/export", { format: "ipynb" }), { signal });
  saveBlob(await response.blob(), `${session.id}.ipynb`);
}

export function ExportLinks({ session }: { session: SessionRef }) {
  const { run, isBusy, error } = useAction();
  return (
    <span class="export">
      <button type="button" disabled={isBusy} onClick={() => void run((signal) => exportNotebook(session, signal))}>
        Export as notebook
      </button>
      {error ? (
        <span role="alert" class="bad-text">
          {error.message}
        </span>
      ) : null}
    </span>
  );
}
