import { printable } from "../../../policy/file/problem.ts";
import type { FileList } from "../sessions/session-types.ts";
import { formatBytes } from "./format-bytes.ts";
import type { Style } from "./style.ts";
import { tableLines } from "./table.ts";

/** Files of a workspace as a table. Their names are the program's, so nothing in them may forge a line. */
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
    ...(next === undefined ? [] : [`more files follow; go on with --after ${JSON.stringify(next)}`]),
    ...(leftOut === 0
      ? []
      : [`${leftOut} entries are not listed: links, special files, or names that cannot be used safely`]),
    ...(truncated ? ["there are more entries, or deeper directories, than are looked at"] : []),
  ];
}

/** A program can set any time on its files, also one that no calendar has. */
function timeText(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? "-" : date.toISOString().slice(0, 16).replace("T", " ");
}
