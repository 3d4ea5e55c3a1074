import { useEffect, useState } from "preact/hooks";
import type { WireFile } from "../../../../../src/service/wire/file.ts";
import type { SessionRef } from "../../../api/client.ts";
import { ErrorBox } from "../../../parts/error-box.tsx";
import { useLoad } from "../../../parts/load/use-load.ts";
import { formatBytes } from "../../../parts/text/format.ts";
import { shownName } from "../../../parts/text/shown-name.ts";
import { Lines } from "./lines.tsx";
import { loadPreview, type Preview } from "./load-preview.ts";
import { Notebook } from "./notebook-view.tsx";
import { TableView } from "./table-view.tsx";

/** The content of a file, as far as the page shows it. It is read again when the file changes. */
export function FilePreview({ session, file }: { session: SessionRef; file: WireFile }) {
  const { loaded, reload } = useLoad(
    (signal) => loadPreview(session, file, signal),
    [session.id, session.namespace, file.name, file.size, file.modified_at],
  );
  if (loaded.state === "loading") return <p class="quiet">Reading…</p>;
  if (loaded.state === "failed") return <ErrorBox error={loaded.error} retry={reload} />;
  return <Shown preview={loaded.value} name={file.name} />;
}

function Shown({ preview, name }: { preview: Preview; name: string }) {
  switch (preview.kind) {
    case "empty":
      return <p class="quiet">The file is empty.</p>;
    case "image":
      return <Picture blob={preview.blob} name={name} />;
    case "table":
      return <TableView table={preview.table} />;
    case "json":
      return (
        <>
          {preview.json.isCut ? <p class="quiet">The first 5,000 lines.</p> : null}
          <Lines text={preview.json.text} />
        </>
      );
    case "notebook":
      return <Notebook notebook={preview.notebook} />;
    case "text":
      return (
        <>
          {preview.isCut ? <p class="quiet">The first 256 KiB. Download the file to see all of it.</p> : null}
          <Lines text={preview.text} />
        </>
      );
    case "binary":
      return (
        <>
          <p class="quiet">This is not text. Its first bytes:</p>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard */}
          <pre class="hex" tabIndex={0}>
            {preview.hex}
          </pre>
        </>
      );
    case "large":
      return (
        <p class="quiet">
          The {preview.what} is larger than {formatBytes(preview.maxBytes)}. Download it to see it.
        </p>
      );
  }
}

function Picture({ blob, name }: { blob: Blob; name: string }) {
  const [url, setUrl] = useState<string>();
  const [isBroken, setBroken] = useState(false);
  useEffect(() => {
    const made = URL.createObjectURL(blob);
    setUrl(made);
    setBroken(false);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  if (isBroken) return <p class="quiet">The browser cannot show this image: it is damaged or too large.</p>;
  return url === undefined ? null : (
    <img class="file-picture" src={url} alt={shownName(name)} onError={() => setBroken(true)} />
  );
}
