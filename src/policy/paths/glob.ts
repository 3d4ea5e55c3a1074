/** One path segment of a glob. Matching never backtracks further than the last `*`, so no glob is slow. */
type Segment = "**" | readonly Token[];
type Token = "*" | "?" | { readonly literal: string } | CharacterClass;
interface CharacterClass {
  readonly negated: boolean;
  readonly ranges: readonly (readonly [string, string])[];
}

export interface Glob {
  /** as it was written */
  readonly text: string;
  /** what the braces stand for, each a list of segments */
  readonly alternatives: readonly (readonly Segment[])[];
}

const maxLength = 256;
const maxAlternatives = 64;

/** Why a glob is refused, or undefined when it is fine. */
export function globProblem(text: string): string | undefined {
  if (text === "") return "the glob is empty";
  if (text.length > maxLength) return `a glob has at most ${maxLength} characters`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  if (/[\u0000-\u001f\u007f]/.test(text)) return "a glob has no control characters";
  if (text.startsWith("!")) return "! is written once, at the start";
  if (text.includes("\\")) return "a backslash has no meaning here; [*] matches a star";
  const alternatives = expandBraces(text);
  if (!alternatives) return `braces are {a,b}, not nested, and stand for at most ${maxAlternatives} globs`;
  if (alternatives.some((alternative) => /(?:^|\/)\.\.?(?:\/|$)/.test(alternative)))
    return "a glob has no . or .. parts";
  if (alternatives.some((alternative) => parseSegments(alternative) === undefined))
    return "[...] is a set such as [abc] or [a-z]";
  if (alternatives.some((alternative) => parseSegments(alternative)?.length === 0)) return "the glob names nothing";
  return undefined;
}

/** Compiles a glob that `globProblem` has nothing to say about. */
export function compileGlob(text: string): Glob {
  const alternatives = (expandBraces(text) ?? []).map((alternative) => parseSegments(alternative) ?? []);
  return { text, alternatives };
}

/** The name that the last segment of an alternative spells out, or undefined when it has wildcards. */
export function literalName(alternative: readonly Segment[]): string | undefined {
  const last = alternative.at(-1);
  if (last === undefined || last === "**") return undefined;
  let name = "";
  for (const token of last) {
    if (typeof token === "string" || !("literal" in token)) return undefined;
    name += token.literal;
  }
  return name;
}

/** Whether an alternative names exactly this path, given as folded segments. */
export function matchesSegments(alternative: readonly Segment[], path: readonly string[]): boolean {
  // The last name decides most of the time, and walks ask about hundreds of thousands.
  const [last, name] = [alternative.at(-1), path.at(-1)];
  if (last === undefined || name === undefined || !matchesName(last, name)) return false;
  return matchesRepeated(alternative, path, (segment) => segment === "**", matchesName);
}

function matchesName(segment: Segment, name: string): boolean {
  if (segment === "**") return true;
  const [first] = segment;
  if (typeof first === "object" && "literal" in first && !name.startsWith(first.literal)) return false;
  return matchesRepeated(segment, [...name], (token) => token === "*", matchesCharacter);
}

function matchesCharacter(token: Token, character: string): boolean {
  if (typeof token === "string") return true;
  if ("literal" in token) return token.literal === character;
  return token.ranges.some(([from, to]) => from <= character && character <= to) !== token.negated;
}

/** The classic two-pointer wildcard match: after a mismatch only the last star takes one more item. */
export function matchesRepeated<Pattern, Item>(
  pattern: readonly Pattern[],
  items: readonly Item[],
  isStar: (part: Pattern) => boolean,
  matchesOne: (part: Pattern, item: Item) => boolean,
): boolean {
  let at = 0;
  let star = -1;
  let starItem = 0;
  for (let item = 0; item < items.length; ) {
    const part = pattern[at];
    if (part !== undefined && isStar(part)) {
      star = at++;
      starItem = item;
    } else if (part !== undefined && matchesOne(part, items[item] as Item)) {
      at++;
      item++;
    } else if (star >= 0) {
      at = star + 1;
      item = ++starItem;
    } else return false;
  }
  return pattern.slice(at).every(isStar);
}

/**
 * One spelling for names that a file system may treat as the same: case, composed characters, and the invisible
 * characters that HFS+ ignores. `.ENV`, `.ſsh` and `.g<U+200C>it` must not slip past a deny.
 */
export function foldName(name: string): string {
  const visible = name.replace(/[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, "");
  return visible.normalize("NFC").toUpperCase().toLowerCase().normalize("NFC");
}

/** What the braces of a glob stand for, or undefined when they are not right. */
export function expandBraces(text: string): string[] | undefined {
  let alternatives = [""];
  for (let rest = text; rest !== ""; ) {
    const open = rest.search(/[{}]/);
    const plain = open < 0 ? rest : rest.slice(0, open);
    const close = open < 0 ? -1 : rest.indexOf("}", open);
    const choices = open < 0 ? [""] : rest.slice(open + 1, close).split(",");
    if (open >= 0 && (rest[open] === "}" || close < 0 || choices.some((choice) => choice.includes("{"))))
      return undefined;
    if (alternatives.length * choices.length > maxAlternatives) return undefined;
    alternatives = alternatives.flatMap((head) => choices.map((choice) => head + plain + choice));
    rest = open < 0 ? "" : rest.slice(close + 1);
  }
  return alternatives;
}

/** A glob without a leading slash matches at any depth. A trailing `/**` means the directory, and with it all below. */
function parseSegments(text: string): Segment[] | undefined {
  const anchored = text.startsWith("/");
  const segments: Segment[] = anchored ? [] : ["**"];
  for (const part of foldName(text).split("/")) {
    if (part === "" || (part === "**" && segments.at(-1) === "**")) continue;
    const segment = part === "**" ? part : parseName(part);
    if (segment === undefined) return undefined;
    segments.push(segment);
  }
  while (segments.at(-1) === "**") segments.pop();
  return segments;
}

function parseName(text: string): Token[] | undefined {
  const tokens: Token[] = [];
  for (const [token] of text.matchAll(/\[[!^]?\]?[^\]]*\]|[\s\S]/gu)) {
    if (token === "[") return undefined;
    if (token === "*" || token === "?") {
      if (token === "?" || tokens.at(-1) !== "*") tokens.push(token);
    } else if (token.startsWith("[")) {
      const characters = parseClass(token.slice(1, -1));
      if (!characters) return undefined;
      tokens.push(characters);
    } else tokens.push({ literal: token });
  }
  return tokens;
}

function parseClass(text: string): CharacterClass | undefined {
  const negated = /^[!^]/.test(text);
  const characters = [...(negated ? text.slice(1) : text)];
  const ranges: (readonly [string, string])[] = [];
  for (let at = 0; at < characters.length; at++) {
    const from = characters[at] ?? "";
    const to = characters[at + 1] === "-" ? characters[at + 2] : undefined;
    if (to !== undefined && from > to) return undefined;
    ranges.push([from, to ?? from]);
    if (to !== undefined) at += 2;
  }
  return ranges.length === 0 ? undefined : { negated, ranges };
}
