import "../../parts/panel.css";
import "./files.css";
import { useRef, useState } from "preact/hooks";
import type { SessionRef } from "../../api/client.ts";
import { useConfirm } from "../../parts/dialog/confirm.tsx";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorBox } from "../../parts/error-box.tsx";
import { hasScope } from "../../parts/load/scope.ts";
import { useLoad } from "../../parts/load/use-load.ts";
import { useSessionEvents } from "../../parts/load/use-session-events.ts";
import { WithCell } from "../../parts/load/with-cell.tsx";
import { plural } from "../../parts/text/format.ts";
import { shownName } from "../../parts/text/shown-name.ts";
import { DropZone } from "./drop-zone.tsx";
import { FileList } from "./file-list.tsx";
import { FileView } from "./file-view.tsx";
import { loadFiles } from "./load-files.ts";
import { UploadList } from "./upload-list.tsx";
import { useUploads } from "./use-uploads.ts";

const changing = /^(?:run\.ended|file\.(?:uploaded|deleted)|session\.restored)$/;

/** The files of a session: list, preview, upload, download, delete. */
export function FilesPanel({ session }: { session: SessionRef }) {
  return (
    <WithCell session={session} what="files">
      {() => <Files session={session} />}
    </WithCell>
  );
}

function Files({ session }: { session: SessionRef }) {
  const [folder, setFolder] = useState("");
  const [pages, setPages] = useState(1);
  const [search, setSearch] = useState("");
  const [chosen, setChosen] = useState<string>();
  const [confirm, dialog] = useConfirm();
  const { loaded, reload } = useLoad(
    (signal) => loadFiles(session, folder, pages, signal),
    [session.id, session.namespace, folder, pages],
  );
  useSessionEvents(session, ({ type }) => {
    if (changing.test(type)) reload();
  });
  const { uploads, start, clear } = useUploads(session, reload);
  const mayWrite = hasScope("run");
  const list = loaded.state === "ready" ? loaded.value : undefined;

  const upload = async (files: readonly File[]) => {
    const wanted = files.map((file) => ({ path: `${folder}${file.name}`, file }));
    const existing = wanted.filter(({ path }) => list?.files.some(({ name }) => name === path));
    if (existing.length > 0) {
      const names = existing.slice(0, 5).map(({ path }) => shownName(path, 80));
      const isYes = await confirm({
        title: `Replace ${plural(existing.length, "file")}?`,
        body: `${names.join(", ")}${existing.length > names.length ? "…" : ""}: the content that is there now will be lost.`,
        action: "Replace",
      });
      if (!isYes) return;
    }
    start(wanted);
  };
  const openFolder = (path: string) => {
    setFolder(path);
    setPages(1);
    setSearch("");
  };
  const file = list?.files.find(({ name }) => name === chosen);
  return (
    <DropZone isOpen={mayWrite} onFiles={upload}>
      {dialog}
      <div class="panel-bar">
        <input
          type="search"
          aria-label="Search files"
          placeholder="Search files"
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
        {mayWrite ? <UploadButton onFiles={upload} /> : null}
        <button type="button" onClick={reload}>
          Refresh
        </button>
        {mayWrite ? <span class="quiet drop-hint">or drop files here</span> : null}
      </div>
      <UploadList uploads={uploads} clear={clear} />
      {loaded.state === "loading" ? <p class="quiet">Loading…</p> : null}
      {loaded.state === "failed" ? <ErrorBox error={loaded.error} retry={reload} /> : null}
      {list && list.files.length === 0 && folder === "" ? (
        <EmptyState title="There are no files">
          <p>
            {mayWrite
              ? "Upload some, or run code that writes to its working directory."
              : "No run has written one yet."}
          </p>
        </EmptyState>
      ) : null}
      {list && (list.files.length > 0 || folder !== "") ? (
        <div class={file ? "two-columns" : undefined}>
          <FileList
            {...{ list, folder, search, chosen, openFolder }}
            choose={(name) => setChosen(name === chosen ? undefined : name)}
            loadMore={() => setPages(pages + 1)}
          />
          {file ? (
            <FileView
              key={file.name}
              {...{ session, file, mayWrite, confirm }}
              close={() => setChosen(undefined)}
              onDeleted={() => {
                setChosen(undefined);
                reload();
              }}
            />
          ) : null}
        </div>
      ) : null}
    </DropZone>
  );
}

function UploadButton({ onFiles }: { onFiles: (files: readonly File[]) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" class="primary" onClick={() => input.current?.click()}>
        Upload files
      </button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to upload"
        onChange={({ currentTarget }) => {
          onFiles([...(currentTarget.files ?? [])]);
          currentTarget.value = ""; // the same file can be chosen again
        }}
      />
    </>
  );
}
