import type { WireFile } from "../../../../src/service/wire/file.ts";
import { call, getJson, type SessionRef, sessionPath } from "../../api/client.ts";
import type { Question } from "../../parts/dialog/confirm.tsx";
import { ErrorBox } from "../../parts/error-box.tsx";
import { saveBlob, saveLink } from "../../parts/load/save-file.ts";
import { useAction } from "../../parts/load/use-action.ts";
import { formatBytes } from "../../parts/text/format.ts";
import { shownName } from "../../parts/text/shown-name.ts";
import { filePath } from "./file-path.ts";
import { FilePreview } from "./preview/file-preview.tsx";

/** Files up to this size go through the page; larger ones go straight to the disk by a link that lasts a minute. */
const maxBlobBytes = 32 * 1024 * 1024;

/** One file: its preview, and what can be done with it. */
export function FileView({
  session,
  file,
  mayWrite,
  confirm,
  close,
  onDeleted,
}: {
  session: SessionRef;
  file: WireFile;
  mayWrite: boolean;
  confirm: (question: Question) => Promise<boolean>;
  close: () => void;
  onDeleted: () => void;
}) {
  const { run, isBusy, error } = useAction();
  const shown = shownName(file.name);
  const download = () =>
    run(async (signal) => {
      if (file.size <= maxBlobBytes) {
        const response = await call(filePath(session, file.name), { signal });
        saveBlob(await response.blob(), file.name);
        return;
      }
      const json = { path: file.name, expires_in: 60 };
      const link = await getJson<{ url: string }>(sessionPath(session, "/links"), { method: "POST", json, signal });
      saveLink(link.url, file.name);
    });
  const remove = async () => {
    const isYes = await confirm({
      title: "Delete this file?",
      body: `${shown} (${formatBytes(file.size)}) will be lost. No checkpoint brings files back.`,
      action: "Delete",
    });
    if (!isYes) return;
    await run(async (signal) => {
      await call(filePath(session, file.name), { method: "DELETE", signal });
      onDeleted();
    });
  };
  return (
    <section class="card file-view" aria-label={`File ${shown}`}>
      <h2 class="any-text">{shown}</h2>
      <div class="panel-bar">
        <span class="quiet grows">{formatBytes(file.size)}</span>
        <button type="button" onClick={download} disabled={isBusy}>
          Download
        </button>
        {mayWrite ? (
          <button type="button" class="danger" onClick={remove} disabled={isBusy}>
            Delete
          </button>
        ) : null}
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
      {error ? <ErrorBox error={error} /> : null}
      <FilePreview session={session} file={file} />
    </section>
  );
}
