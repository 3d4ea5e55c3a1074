import { formatBytes } from "../../parts/text/format.ts";
import { shownName } from "../../parts/text/shown-name.ts";
import { isUnderWay, type Upload } from "./use-uploads.ts";

/** How each upload goes; screen readers hear when one ends. */
export function UploadList({ uploads, clear }: { uploads: readonly Upload[]; clear: () => void }) {
  if (uploads.length === 0) return null;
  return (
    <section class="card uploads" aria-label="Uploads">
      <div role="status">
        <ul>
          {uploads.slice(-100).map((upload) => (
            <li key={upload.key}>
              <span class="any-text">{shownName(upload.path)}</span> <UploadStatus upload={upload} />
            </li>
          ))}
        </ul>
      </div>
      {uploads.every(isUnderWay) ? null : (
        <button type="button" onClick={clear}>
          Clear this list
        </button>
      )}
    </section>
  );
}

function UploadStatus({ upload: { status, size, path } }: { upload: Upload }) {
  switch (status.state) {
    case "waiting":
      return <span class="badge">waiting</span>;
    case "sending":
      return (
        <>
          <progress max={size} value={status.sent} aria-label={`Upload of ${shownName(path)}`} />{" "}
          <span class="quiet" aria-hidden="true">
            {formatBytes(status.sent)} of {formatBytes(size)}
          </span>
        </>
      );
    case "done":
      return <span class="badge ok">uploaded</span>;
    case "failed":
      return (
        <>
          <span class="badge bad">failed</span> {status.error.message}
          {status.error.hint ? <span class="quiet"> {status.error.hint}</span> : null}
        </>
      );
  }
}
