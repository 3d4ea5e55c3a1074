import type { WireFile, WireFileList } from "../../../../src/service/wire/file.ts";
import { Ago } from "../../parts/text/ago.tsx";
import { formatBytes, formatCount, plural } from "../../parts/text/format.ts";
import { useShowMore } from "../../parts/text/show-more.tsx";
import { shownName } from "../../parts/text/shown-name.ts";
import { crumbsOf, folderOf } from "./folder.ts";

export interface FileListProps {
  readonly list: WireFileList;
  readonly folder: string;
  readonly search: string;
  readonly chosen: string | undefined;
  readonly openFolder: (path: string) => void;
  readonly choose: (name: string) => void;
  readonly loadMore: () => void;
}

/** The files of one folder; with a search, also those in the folders below it. */
export function FileList({ list, folder, search, chosen, openFolder, choose, loadMore }: FileListProps) {
  const wanted = search.trim().toLowerCase();
  const isSearch = wanted !== "";
  const found = list.files.filter(({ name }) => name.slice(folder.length).toLowerCase().includes(wanted));
  const { folders, files } = isSearch ? { folders: [], files: found } : folderOf(list.files, folder);
  const [limit, more] = useShowMore(folders.length + files.length, 500);
  return (
    <div class="panel">
      <Crumbs folder={folder} openFolder={openFolder} />
      {isSearch ? (
        <p class="quiet" role="status">
          {plural(found.length, "file")} found in {list.next === null ? "" : "the first "}
          {plural(list.files.length, "file")}
        </p>
      ) : null}
      <table>
        <thead>
          <tr>
            <th>Name</th>
            <th class="number">Size</th>
            <th class="time-column">Changed</th>
          </tr>
        </thead>
        <tbody>
          {folders.slice(0, limit).map(({ name, files: count }) => (
            <tr key={`${name}/`}>
              <td>
                <button type="button" class="row-name" onClick={() => openFolder(`${folder}${name}/`)}>
                  <span aria-hidden="true">▸ </span>
                  {shownName(name)}/
                </button>
              </td>
              <td class="number quiet">{plural(count, "file")}</td>
              <td class="time-column" />
            </tr>
          ))}
          {files.slice(0, Math.max(0, limit - folders.length)).map((file) => (
            <FileRow key={file.name} file={file} folder={folder} isChosen={file.name === chosen} choose={choose} />
          ))}
        </tbody>
      </table>
      {more}
      {list.next === null ? null : (
        <button type="button" onClick={loadMore}>
          Load more files
        </button>
      )}
      <LeftOut list={list} />
    </div>
  );
}

function Crumbs({ folder, openFolder }: Pick<FileListProps, "folder" | "openFolder">) {
  if (folder === "") return null;
  const crumbs = crumbsOf(folder);
  return (
    <nav class="crumbs" aria-label="Folder">
      <button type="button" class="row-name" onClick={() => openFolder("")}>
        All files
      </button>
      {crumbs.map(({ name, path }, index) => (
        <span key={path}>
          <span aria-hidden="true">/ </span>
          {index === crumbs.length - 1 ? (
            <strong aria-current="true">{shownName(name, 60)}</strong>
          ) : (
            <button type="button" class="row-name" onClick={() => openFolder(path)}>
              {shownName(name, 60)}
            </button>
          )}
        </span>
      ))}
    </nav>
  );
}

function FileRow({
  file: { name, size, modified_at },
  folder,
  isChosen,
  choose,
}: {
  file: WireFile;
  folder: string;
  isChosen: boolean;
  choose: (name: string) => void;
}) {
  return (
    <tr>
      <td>
        <button type="button" class="row-name" aria-pressed={isChosen ? "true" : "false"} onClick={() => choose(name)}>
          {shownName(name.slice(folder.length))}
        </button>
      </td>
      <td class="number">{formatBytes(size)}</td>
      <td class="time-column">
        <Ago at={modified_at} />
      </td>
    </tr>
  );
}

function LeftOut({ list: { left_out, truncated } }: { list: WireFileList }) {
  if (left_out === 0 && !truncated) return null;
  return (
    <p class="quiet">
      {left_out > 0
        ? `${formatCount(left_out)} not listed: links, special files and names that the policy denies. `
        : ""}
      {truncated ? "There are more entries or deeper folders than codecell lists." : ""}
    </p>
  );
}
