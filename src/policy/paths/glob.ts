/** One path segment of a glob. Matching backtracks to the last `*` only, so no glob is slow. */
type Segment = "**" | readonly Token[];
type Token = "*" | "?" | { readonly literal: string } | CharacterClass;
interface CharacterClass {
  readonly negated: boolean;
  readonly ranges: readonly (readonly [string, string])[];
}

export interface Glob {
  /** as it was written */
  readonly text: string;
  /** one list of segments per brace alternative */
  readonly alternatives: readonly (readonly Segment[])[];
}

const maxLength = 256;
/** of a glob that names a host path */
const maxHostLength = 4096;
const maxAlternatives = 64;

/** Why a glob is refused, or undefined when it is valid. */
export function globProblem(text: string): string | undefined {
  if (text === "") return "the glob is empty";
  const most = isHostGlob(text) ? maxHostLength : maxLength;
  if (text.length > most) return `a glob can have at most ${most} characters`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  if (/[\u0000-\u001f\u007f]/.test(text)) return "a glob cannot contain control characters";
  if (text.startsWith("!")) return "write ! once, at the start";
  if (text.includes("\\")) return "a backslash is not supported; [*] matches a star";
  const alternatives = expandBraces(text);
  if (!alternatives) return `braces must be {a,b}, not nested, and expand to at most ${maxAlternatives} globs`;
  if (alternatives.some((alternative) => /(?:^|\/)\.\.?(?:\/|$)/.test(alternative)))
    return "a glob cannot contain . or .. parts";
  if (alternatives.some((alternative) => parseSegments(alternative) === undefined))
    return "[...] must be a set such as [abc] or [a-z]";
  if (alternatives.some((alternative) => parseSegments(alternative)?.length === 0)) return "the glob matches nothing";
  return undefined;
}

/** Whether a glob matches absolute paths of the host: it starts with `//`. */
export function isHostGlob(text: string): boolean {
  return text.startsWith("//");
}

/** The glob that matches one absolute path of the host, whatever characters it has. */
export function hostGlob(path: string): string {
  return `/${path.replace(/[*?[\]{}\\]/g, "?")}`;
}

/** Compiles a glob that `globProblem` accepts. */
export function compileGlob(text: string): Glob {
  const alternatives = (expandBraces(text) ?? []).map((alternative) => parseSegments(alternative) ?? []);
  return { text, alternatives };
}

/** The literal name in the last segment of an alternative, or undefined when it has wildcards. */
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

/** Whether an alternative matches exactly this path, given as folded segments. */
export function matchesSegments(alternative: readonly Segment[], path: readonly string[]): boolean {
  // Check the last name first: it decides most of the time, and a walk checks hundreds of thousands of paths.
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
 * Folds names that a file system may treat as the same into one spelling: case, composed characters, and the invisible
 * characters that HFS+ ignores. The attack: `.ENV`, `.ſsh` or `.g<U+200C>it` to get around a deny glob.
 */
export function foldName(name: string): string {
  const visible = name.replace(/[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, "");
  return visible.normalize("NFC").toUpperCase().toLowerCase().normalize("NFC");
}

/** The globs that the braces expand to, or undefined when they are invalid. */
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

/** A glob without a leading slash matches at any depth. A trailing `/**` means the directory and everything below it. */
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
