/** A notebook as the page shows it: text and images, never HTML or scripts. */
export interface NotebookView {
  readonly cells: readonly NotebookCell[];
  readonly leftOut: number;
}

export interface NotebookCell {
  readonly kind: "code" | "markdown" | "raw";
  readonly source: string;
  readonly outputs: readonly NotebookOutput[];
}

export type NotebookOutput =
  | { readonly kind: "text"; readonly text: string; readonly isError: boolean }
  | { readonly kind: "image"; readonly url: string };

const maxCells = 200;
const maxOutputs = 50;
const maxCharacters = 20_000;
const maxImageCharacters = 8 * 1024 * 1024;
const imageTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** Pure: undefined if the text is not a notebook. */
export function parseNotebook(text: string): NotebookView | undefined {
  const notebook = fieldsOf(parsed(text));
  if (!Array.isArray(notebook.cells)) return undefined;
  const cells = notebook.cells.slice(0, maxCells).map(cellOf);
  return { cells, leftOut: notebook.cells.length - cells.length };
}

function cellOf(cell: unknown): NotebookCell {
  const { cell_type, source, outputs } = fieldsOf(cell);
  const kind = cell_type === "code" || cell_type === "markdown" ? cell_type : "raw";
  const all = Array.isArray(outputs) ? outputs.slice(0, maxOutputs) : [];
  return { kind, source: linesOf(source), outputs: all.flatMap(outputOf) };
}

function outputOf(output: unknown): NotebookOutput[] {
  const { output_type, text, data, ename, evalue } = fieldsOf(output);
  if (output_type === "stream") return textOutput(linesOf(text));
  if (output_type === "error") return textOutput(`${linesOf(ename)}: ${linesOf(evalue)}`, true);
  const forms = fieldsOf(data);
  for (const type of imageTypes) {
    const image = typeof forms[type] === "string" || Array.isArray(forms[type]) ? joined(forms[type]) : "";
    const base64 = image.replace(/\s/g, "");
    const isSound = base64 !== "" && base64.length <= maxImageCharacters && /^[A-Za-z0-9+/]+={0,2}$/.test(base64);
    if (isSound) return [{ kind: "image", url: `data:${type};base64,${base64}` }];
  }
  return textOutput(linesOf(forms["text/plain"]) || "(output that the page does not show)");
}

function textOutput(text: string, isError = false): NotebookOutput[] {
  return text === "" ? [] : [{ kind: "text", text, isError }];
}

/** Text in a notebook is one string or a list of lines. */
function linesOf(value: unknown): string {
  const text = joined(value);
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text;
}

function joined(value: unknown): string {
  if (typeof value === "string") return value;
  return Array.isArray(value) ? value.filter((line) => typeof line === "string").join("") : "";
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
