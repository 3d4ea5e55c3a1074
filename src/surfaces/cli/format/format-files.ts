import { printable } from "../../../policy/file/problem.ts";
import type { FileList } from "../sessions/session-types.ts";
import { formatBytes } from "./text/format-bytes.ts";
import type { Style } from "./text/style.ts";
import { tableLines } from "./text/table.ts";

/** The files of a workspace as a table. Programs choose the names, so they are escaped: none can forge a line. */
export function filesTable(files: FileList["files"], style: Style, width: number): string {
  const rows = files.map(({ path, size, modifiedMs }) => {
    return [formatBytes(size), timeText(modifiedMs), printable(path, 1024)];
  });
  const [header = "", ...body] = tableLines(["SIZE", "MODIFIED (UTC)", "NAME"], rows, width);
  return `${[style.dim(header), ...body].join("\n")}\n`;
}

/** What a page of files does not show, one sentence each. */
export function filesRemarks({ next, leftOut, truncated }: FileList): string[] {
  return [
    ...(next === undefined ? [] : [`there are more files; continue with --after ${JSON.stringify(next)}`]),
    ...(leftOut === 0 ? [] : [`${leftOut} entries are not listed: they are links, special files or have unsafe names`]),
    ...(truncated
      ? ["the list is truncated: the workspace has too many entries or directories that are too deep"]
      : []),
  ];
}

/** A program can set any time on its files, even one outside the range of `Date`. */
function timeText(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? "-" : date.toISOString().slice(0, 16).replace("T", " ");
}
