/** A parsed template, as far as the chart uses the language. */
export type TemplateNode =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "print"; readonly source: string }
  | { readonly kind: "define"; readonly name: string; readonly body: readonly TemplateNode[] }
  | {
      readonly kind: "if" | "with" | "range";
      readonly source: string;
      readonly body: readonly TemplateNode[];
      readonly otherwise: readonly TemplateNode[];
    };

interface Piece {
  readonly kind: "text" | "action";
  readonly text: string;
}

/** Parses the text of a template. What it does not know is an error, so that the chart keeps to the subset. */
export function parseTemplate(text: string): TemplateNode[] {
  const pieces = piecesOf(text);
  const { nodes, stop } = parseUntilEnd(pieces);
  if (stop !== undefined || pieces.length > 0) throw new Error(`{{ ${stop} }} without a beginning`);
  return nodes;
}

/** `{{-` removes the white space before it, `-}}` what follows. */
function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  let trimsNext = false;
  for (const match of text.matchAll(/\{\{(-\s)?\s*((?:"(?:[^"\\]|\\.)*"|[^"])*?)\s*(\s-)?\}\}/g)) {
    const [all, trimBefore, action = "", trimAfter] = match;
    let before = text.slice(at, match.index);
    if (trimsNext) before = before.trimStart();
    if (trimBefore !== undefined) before = before.trimEnd();
    pieces.push({ kind: "text", text: before }, { kind: "action", text: action });
    trimsNext = trimAfter !== undefined;
    at = match.index + all.length;
  }
  const rest = text.slice(at);
  pieces.push({ kind: "text", text: trimsNext ? rest.trimStart() : rest });
  return pieces;
}

/** Takes nodes from the front of `pieces`, up to `end` or `else`. */
function parseUntilEnd(pieces: Piece[]): { nodes: TemplateNode[]; stop: string | undefined } {
  const nodes: TemplateNode[] = [];
  for (let piece = pieces.shift(); piece !== undefined; piece = pieces.shift()) {
    if (piece.kind === "text") {
      if (piece.text !== "") nodes.push({ kind: "text", text: piece.text });
      continue;
    }
    const [, word = "", source = ""] = /^(if|with|range|define|else|end)\b\s*([\s\S]*)$/.exec(piece.text) ?? [];
    if (word === "end" || word === "else") return { nodes, stop: piece.text };
    if (word === "") nodes.push({ kind: "print", source: piece.text });
    else if (word === "define") nodes.push({ kind: "define", name: JSON.parse(source), body: bodyOf(pieces) });
    else nodes.push(branch(word as "if" | "with" | "range", source, pieces));
  }
  return { nodes, stop: undefined };
}

function bodyOf(pieces: Piece[]): TemplateNode[] {
  const { nodes, stop } = parseUntilEnd(pieces);
  if (stop !== "end") throw new Error("a block without {{ end }}");
  return nodes;
}

function branch(kind: "if" | "with" | "range", source: string, pieces: Piece[]): TemplateNode {
  const { nodes: body, stop = "" } = parseUntilEnd(pieces);
  if (stop === "end") return { kind, source, body, otherwise: [] };
  const [, condition] = /^else\s+if\s+([\s\S]+)$/.exec(stop) ?? [];
  if (condition !== undefined) return { kind, source, body, otherwise: [branch("if", condition, pieces)] };
  if (stop !== "else") throw new Error(`a block without {{ end }}: ${source}`);
  return { kind, source, body, otherwise: bodyOf(pieces) };
}
