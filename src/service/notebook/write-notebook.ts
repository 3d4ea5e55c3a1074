import { createHash } from "node:crypto";
import type { JsonMember } from "./json-scanner.ts";
import type { NotebookOutput } from "./notebook-output.ts";
import type { Notebook, NotebookCell } from "./read-notebook.ts";

/** What a code cell of the copy has instead of its old outputs. */
export interface CellContent {
  readonly outputs: readonly NotebookOutput[];
  readonly executionCount: number | null;
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Cells have ids since this minor version. */
const idsSince = 5;

/**
 * The notebook's text with other outputs. Everything else stays byte for byte: names that this program does not know, numbers,
 * indentation. A cell without content keeps its outputs. Members that the format requires and that are missing are added.
 */
export function writeNotebook(notebook: Notebook, contents: ReadonlyMap<NotebookCell, CellContent>): string {
  const edits = notebook.cells.flatMap((cell) => cellEdits(notebook, cell, contents.get(cell)));
  let text = "";
  let at = 0;
  for (const edit of edits.sort((a, b) => a.start - b.start)) {
    text += notebook.text.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return text + notebook.text.slice(at);
}

/** How many bytes the new outputs of a cell take in the notebook. */
export function writtenBytes(notebook: Notebook, cell: NotebookCell, content: CellContent): number {
  return cellEdits(notebook, cell, content).reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
}

function cellEdits({ text, minor }: Notebook, cell: NotebookCell, content: CellContent | undefined): Edit[] {
  const isCode = cell.type === "code";
  const wanted: [name: string, value: unknown, isReplaced: boolean][] = [];
  if (minor >= idsSince) wanted.push(["id", newId(cell), false]);
  wanted.push(["metadata", {}, false]);
  if (isCode) wanted.push(["execution_count", content?.executionCount ?? null, content !== undefined]);
  if (isCode) wanted.push(["outputs", content?.outputs ?? [], content !== undefined]);
  const edits: Edit[] = [];
  let added = "";
  const layout = layoutOf(text, cell);
  for (const [name, value, isReplaced] of wanted) {
    const member = cell.members.find((one) => one.name === name);
    if (!member) added += `,${layout.before}${JSON.stringify(name)}: ${layout.print(value)}`;
    else if (isReplaced) edits.push({ ...member.value, text: layout.print(value) });
  }
  const end = cell.members.at(-1)?.value.end ?? 0; // they are in the order of the text
  if (added !== "") edits.push({ start: end, end, text: added });
  return edits;
}

/** How the cell is laid out: `before` comes before each member. */
function layoutOf(text: string, { members }: NotebookCell): { before: string; print: (value: unknown) => string } {
  const { start } = members[0] as JsonMember; // a cell has a type and a source
  const lineStart = text.lastIndexOf("\n", start - 1) + 1;
  const indent = text.slice(lineStart, start);
  if (lineStart === 0 || /[^ \t]/.test(indent)) return { before: " ", print: (value) => JSON.stringify(value) };
  // Members of a cell are three levels deep: notebook, list of cells, cell.
  const unit = indent.startsWith("\t") ? "\t" : " ".repeat(Math.max(1, Math.floor(indent.length / 3)));
  const print = (value: unknown) => JSON.stringify(value, null, unit).replaceAll("\n", `\n${indent}`);
  return { before: `\n${indent}`, print };
}

/** The same for the same cell: a second run of the same notebook writes the same ids. */
function newId({ number, source }: NotebookCell): string {
  return createHash("sha256").update(`${number}\n${source}`).digest("hex").slice(0, 16);
}
