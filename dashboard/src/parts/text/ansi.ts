import { AnsiPen, type AnsiStyle, plainStyle } from "./ansi-style.ts";

/** Characters of one look. */
export interface AnsiPiece {
  readonly text: string;
  readonly style: AnsiStyle;
}
export type AnsiLine = readonly AnsiPiece[];

export interface AnsiLimits {
  /** of them, the first tenth and the last ones are kept */
  readonly lines: number;
  /** of one line; what is beyond is dropped and counted */
  readonly lineCharacters: number;
}

const defaultLimits: AnsiLimits = { lines: 50_000, lineCharacters: 10_000 };
/** An escape sequence that is longer than this is no sequence. */
const maxSequence = 4096;
/** changes of style in one line */
const maxPieces = 500;
/**
 * Steps that changes within lines may take. The attack: a megabyte that overwrites one character of a colourful line again and again.
 * After them a carriage return erases its line, which is what progress bars do anyway.
 */
const maxRewriting = 2_000_000;
/** What starts something else than plain text: control characters of both sets. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this file is about
const control = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g;

/**
 * Terminal output as lines of styled text. Colours, bold, underline and the like become styles; `\r`, `\b` and "erase in line" work as
 * progress bars need them; every other sequence is dropped. Text can be written in pieces, as it arrives.
 */
export class AnsiText {
  readonly #lines: AnsiPiece[][] = [[]];
  /** lines that were dropped after the first ones, because there are too many */
  droppedLines = 0;
  /** characters that were dropped at the end of long lines */
  droppedCharacters = 0;
  readonly #limits: AnsiLimits;
  readonly #pen = new AnsiPen();
  #column = 0;
  #length = 0;
  #pending = "";
  #rewriting = 0;

  /** a line that is complete never changes; the last one may */
  get lines(): readonly AnsiLine[] {
    return this.#lines;
  }

  constructor(limits: Partial<AnsiLimits> = {}) {
    this.#limits = { ...defaultLimits, ...limits };
  }

  write(chunk: string): this {
    const text = this.#pending + chunk;
    this.#pending = "";
    let at = 0;
    while (at < text.length) {
      control.lastIndex = at;
      const next = control.exec(text)?.index ?? text.length;
      if (next > at) this.#put(text.slice(at, next));
      if (next === text.length) break;
      const end = this.#control(text, next);
      if (end === undefined) {
        this.#pending = text.slice(next);
        break;
      }
      at = end;
    }
    return this;
  }

  /** Handles the control character at an index, and says where text continues; undefined: its end has not arrived. */
  #control(text: string, at: number): number | undefined {
    switch (text[at]) {
      case "\n":
        this.#endLine();
        return at + 1;
      case "\r":
        this.#column = 0;
        if (this.#isTired) this.#erase("2");
        return at + 1;
      case "\b":
        this.#column = Math.max(0, this.#column - 1);
        return at + 1;
      case "\u001b":
        return this.#escape(text, at);
      default:
        return at + 1;
    }
  }

  #escape(text: string, at: number): number | undefined {
    const kind = text[at + 1];
    const rest = text.length - at;
    if (kind === undefined) return undefined;
    if (kind === "[") {
      const sequence = /[\u0020-\u003f]*/y;
      sequence.lastIndex = at + 2;
      const parameters = sequence.exec(text)?.[0] ?? "";
      const final = text[at + 2 + parameters.length];
      if (final === undefined) return rest > maxSequence ? at + 2 : undefined;
      if (final === "m" && /^[\d;:]*$/.test(parameters)) this.#pen.set(parameters);
      else if (final === "K") this.#erase(parameters);
      return at + 3 + parameters.length - (final < "\u0020" ? 1 : 0); // a control character ends a broken sequence
    }
    if (/[\]PX^_]/.test(kind)) {
      // Any escape ends it, as in terminals. The attack: a megabyte of beginnings, each of which searches the rest for its end.
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they end a title, a link, or data for the terminal
      const end = /[\u0007\u009c]|\u001b(\\|.)/gs;
      end.lastIndex = at + 2;
      const found = end.exec(text);
      if (found) return found.index + (found[1] === undefined || found[1] === "\\" ? found[0].length : 0);
      return rest > maxSequence ? at + 2 : undefined;
    }
    const between = /[\u0020-\u002f]{0,4}/y;
    between.lastIndex = at + 1;
    const last = at + 1 + (between.exec(text)?.[0].length ?? 0);
    if (last === text.length) return undefined;
    return (text[last] ?? "") < "\u0020" ? last : last + 1;
  }

  #endLine(): void {
    this.#lines.push([]);
    this.#column = 0;
    this.#length = 0;
    const { lines: most } = this.#limits;
    if (this.#lines.length <= most) return;
    const count = Math.max(1, Math.floor(most / 10));
    this.#lines.splice(Math.floor(most / 10), count);
    this.droppedLines += count;
  }

  get #isTired(): boolean {
    return this.#rewriting > maxRewriting;
  }

  #put(text: string): void {
    if (this.#isTired) this.#column = this.#length;
    const room = this.#limits.lineCharacters - this.#column;
    const kept = text.length > room ? text.slice(0, Math.max(0, room)) : text;
    this.droppedCharacters += text.length - kept.length;
    if (kept === "") return;
    const line = this.#last;
    const piece = { text: kept, style: this.#pen.style };
    const end = this.#column + kept.length;
    if (this.#column > this.#length) append(line, { text: " ".repeat(this.#column - this.#length), style: plainStyle });
    if (this.#column >= this.#length) append(line, piece);
    else this.#replace([...part(line, 0, this.#column), piece, ...part(line, end, this.#length)]);
    this.#column = end;
    this.#length = Math.max(this.#length, end);
  }

  get #last(): AnsiPiece[] {
    return this.#lines.at(-1) ?? [];
  }

  #replace(pieces: readonly AnsiPiece[]): void {
    this.#rewriting += this.#last.length + Math.ceil(this.#length / 1000);
    const line: AnsiPiece[] = [];
    for (const piece of pieces) append(line, piece);
    this.#lines[this.#lines.length - 1] = line;
  }

  /** 0: from the cursor to the end of the line; 1: from its beginning to the cursor; 2: all of it */
  #erase(mode: string): void {
    if (this.#isTired && mode === "1") return;
    const line = this.#last;
    const blank = { text: " ".repeat(Math.min(this.#column, this.#length)), style: plainStyle };
    const left =
      mode === "2"
        ? []
        : mode === "1"
          ? [blank, ...part(line, this.#column, this.#length)]
          : part(line, 0, this.#column);
    this.#replace(left);
    this.#length = left.reduce((sum, { text }) => sum + text.length, 0);
  }
}

/** Pure: the whole text at once. */
export function ansiLines(text: string, limits?: Partial<AnsiLimits>): readonly AnsiLine[] {
  return new AnsiText(limits).write(text).lines;
}

/** Pure: the characters of a line, without their looks. */
export function lineText(line: AnsiLine): string {
  return line.map(({ text }) => text).join("");
}

/** The pieces between two columns. */
function part(line: AnsiLine, from: number, to: number): AnsiPiece[] {
  const pieces: AnsiPiece[] = [];
  let start = 0;
  for (const { text, style } of line) {
    const cut = text.slice(Math.max(0, from - start), Math.max(0, to - start));
    if (cut !== "") pieces.push({ text: cut, style });
    start += text.length;
  }
  return pieces;
}

/** Adds a piece; neighbours of the same style become one. A line with very many changes of style loses the later ones. */
function append(line: AnsiPiece[], piece: AnsiPiece): void {
  const last = line.at(-1);
  if (piece.text === "") return;
  if (last && (last.style === piece.style || line.length >= maxPieces)) {
    line[line.length - 1] = { text: last.text + piece.text, style: last.style };
  } else line.push(piece);
}
