import { artifactNameProblem } from "../../../artifacts/artifact-name.ts";
import type { CellFiles } from "../../../kernel/cell-files.ts";
import type { CellFileList } from "../../../kernel/messages.ts";
import { maxSavedFiles } from "./saved-files.ts";

export interface CellListing {
  readonly files: readonly CellFileList["files"][number][];
  /** links, special files and names that cannot be shown */
  readonly leftOut: number;
  /** there are more files than can be saved, or than the cell lists */
  readonly isIncomplete: boolean;
}

/** A page has all files, unless their names are very long. */
const maxPages = 16;

/** The files of a cell, up to the number that a save may have. The cell's answers are untrusted. */
export async function listCell(cell: CellFiles): Promise<CellListing> {
  const files = new Map<string, CellFileList["files"][number]>();
  let after = "";
  let leftOut = 0;
  for (let pages = 1; ; pages++) {
    const before = files.size;
    const page = await cell.list({ prefix: "", after, limit: maxSavedFiles - before });
    if (after === "") leftOut = page.leftOut;
    for (const file of page.files) {
      if (artifactNameProblem(file.path) !== undefined) leftOut++;
      else if (files.size < maxSavedFiles) files.set(file.path, file);
    }
    // The attack: large pages that say nothing new, or one file each, and promise another one, for ever.
    const isStuck = page.next !== undefined && (files.size === before || pages >= maxPages);
    const isFull = page.next !== undefined && files.size >= maxSavedFiles;
    const isIncomplete = page.truncated || isStuck || isFull;
    if (page.next === undefined || isIncomplete) return { files: [...files.values()], leftOut, isIncomplete };
    after = page.next;
  }
}
