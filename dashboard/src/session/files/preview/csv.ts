/** The beginning of a table, and what of it is not shown. */
export interface Table {
  readonly rows: readonly (readonly string[])[];
  /** columns of the widest row that was read */
  readonly columns: number;
  readonly hasMoreRows: boolean;
  readonly hasMoreColumns: boolean;
}

export interface TableLimits {
  readonly rows: number;
  readonly columns: number;
  readonly cellCharacters: number;
}

export const tableLimits: TableLimits = { rows: 500, columns: 50, cellCharacters: 500 };

/**
 * Pure: the first rows of text with separators, as RFC 4180 has it: quotes around what holds a separator or a line end, and two
 * quotes for one. Anything else is taken as it is; no text is an error. `isCut`: the text is only the beginning of the file.
 */
export function parseTable(text: string, separator: string, isCut = false, limits = tableLimits): Table {
  const rows: string[][] = [];
  let columns = 0;
  let at = text.startsWith("\uFEFF") ? 1 : 0;
  while (at < text.length && rows.length < limits.rows) {
    const { cells, count, end, isWhole } = readRow(text, at, separator, limits);
    if (isCut && !isWhole && rows.length > 0) break; // the rest of this row is not here
    at = end;
    columns = Math.max(columns, count);
    rows.push(cells);
  }
  return { rows, columns, hasMoreRows: isCut || at < text.length, hasMoreColumns: columns > limits.columns };
}

interface Row {
  readonly cells: string[];
  /** of the whole row, also of what is left out */
  readonly count: number;
  /** where the next row starts */
  readonly end: number;
  readonly isWhole: boolean;
}

function readRow(text: string, start: number, separator: string, limits: TableLimits): Row {
  const cells: string[] = [];
  let count = 0;
  for (let at = start; ; ) {
    const cell = text[at] === '"' ? readQuoted(text, at, separator) : readPlain(text, at, separator);
    count++;
    if (cells.length < limits.columns) cells.push(shortened(cell.value, limits.cellCharacters));
    at = cell.end;
    if (text[at] === separator) {
      at++;
      continue;
    }
    if (text[at] === "\r" && text[at + 1] === "\n") at++;
    return { cells, count, end: at + 1, isWhole: at < text.length };
  }
}

interface Cell {
  readonly value: string;
  readonly end: number;
}

function readPlain(text: string, start: number, separator: string): Cell {
  let end = start;
  while (end < text.length && text[end] !== separator && text[end] !== "\n" && text[end] !== "\r") end++;
  return { value: text.slice(start, end), end };
}

function readQuoted(text: string, start: number, separator: string): Cell {
  let value = "";
  let at = start + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote === -1) return { value: value + text.slice(at), end: text.length };
    value += text.slice(at, quote);
    if (text[quote + 1] !== '"') {
      const rest = readPlain(text, quote + 1, separator); // text after the closing quote belongs to the cell
      return { value: value + rest.value, end: rest.end };
    }
    value += '"';
    at = quote + 2;
  }
}

function shortened(value: string, characters: number): string {
  return value.length > characters ? `${value.slice(0, characters)}…` : value;
}
