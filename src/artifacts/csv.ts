import { CodecellError } from "../lib/errors.ts";
import { printable } from "../policy/file/problem.ts";

export interface CsvRow {
  readonly fields: readonly string[];
  /** line of the row's start, from 1 */
  readonly line: number;
}

/** Enough for any table. The attack: millions of commas in one row, each of which becomes a field in memory. */
const maxColumns = 100_000;

/** The rows of a CSV text (RFC 4180); line ends may be LF, CRLF or CR. Empty lines are skipped. */
export function* parseCsv(text: string): Generator<CsvRow, void, void> {
  const plain = /[^,"\r\n]*/y;
  let fields: string[] = [];
  let line = 1;
  let rowLine = 1;
  for (let at = 0; at < text.length; ) {
    const isQuoted = text[at] === '"';
    const end = isQuoted ? closingQuote(text, at, line) : matchEnd(plain, text, at);
    const written = text.slice(at, end);
    const field = isQuoted ? unquoted(written) : written;
    if (isQuoted) line += countLineEnds(written);
    at = end;
    const next = text[at];
    if (next === '"') throw csvError(line, "a quote inside a field that does not start with one");
    if (next !== undefined && next !== "," && next !== "\r" && next !== "\n")
      throw csvError(line, `expected a comma after a closing quote, found ${JSON.stringify(printable(next))}`);
    if (fields.length === maxColumns) throw tooWide(rowLine);
    fields.push(field);
    if (next === ",") {
      at++;
      // after a comma at the very end there is one more, empty field
      if (at === text.length) fields.push("");
      continue;
    }
    if (fields.length > 1 || isQuoted || field !== "") yield { fields, line: rowLine };
    fields = [];
    at += text.startsWith("\r\n", at) ? 2 : 1;
    rowLine = ++line;
  }
  if (fields.length > 0) yield { fields, line: rowLine };
}

/** The end of a quoted field. Not a regular expression, which would need memory for every character of a long field. */
function closingQuote(text: string, start: number, line: number): number {
  for (let at = start + 1; ; at += 2) {
    at = text.indexOf('"', at);
    if (at < 0) throw csvError(line, "a quoted field is not closed");
    if (text[at + 1] !== '"') return at + 1;
  }
}

/** `test`, not `exec`: a file has millions of fields, and `exec` allocates an array for each. */
function matchEnd(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

export function csvError(line: number, problem: string): CodecellError {
  return new CodecellError("usage", `line ${line}: ${problem}`, {
    hint: "fix the file, or load it as lines or text",
    details: { line },
  });
}

function tooWide(line: number): CodecellError {
  return new CodecellError("too_large", `line ${line}: a row can have at most ${maxColumns} fields`, {
    hint: "load it as text and parse it in the cell",
    details: { line, maxColumns },
  });
}

function unquoted(written: string): string {
  const inner = written.slice(1, -1);
  return inner.includes('"') ? inner.replaceAll('""', '"') : inner;
}

/** Counts them one by one: a list of all would take more memory than the file. */
function countLineEnds(text: string): number {
  if (!text.includes("\n") && !text.includes("\r")) return 0;
  const lineEnd = /\r\n|\r|\n/g;
  let count = 0;
  while (lineEnd.test(text)) count++;
  return count;
}
