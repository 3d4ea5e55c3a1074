/**
 * Characters that a reader cannot see, or that change how the text around them is read: control characters, direction marks
 * (U+202A–202E, U+2066–2069), zero-width and tag characters, line separators, halves of pairs, and letters that look like nothing.
 */
const unseen = /(?!\uFE0F)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{DI}\u2800]/gu; // U+FE0F only makes an emoji colourful

/** Pure: a name from a cell for the screen. What cannot be seen is escaped, and a long name is cut in its middle. */
export function shownName(name: string, maxCharacters = 200): string {
  return cutMiddle(name, maxCharacters).replace(unseen, escaped);
}

/** Pure: the same for text with lines: line ends and tabs stay, and long text is cut at its end. */
export function shownText(text: string, maxCharacters = 10_000): string {
  const begin = text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text;
  return begin
    .replaceAll("\r\n", "\n")
    .replace(unseen, (character) => (character === "\n" || character === "\t" ? character : escaped(character)));
}

/** Pure: output for the screen. Only marks that change the order of the text around them are escaped: emoji need the others. */
export function shownOrder(text: string): string {
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, escaped);
}

const shortEscapes: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  return shortEscapes[character] ?? (code > 0xffff ? `\\u{${hex}}` : `\\u${hex.padStart(4, "0")}`);
}

/** Keeps the end too: it is where a file name has its extension. */
function cutMiddle(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  const atEnd = Math.min(20, Math.floor(maxCharacters / 4));
  return `${text.slice(0, maxCharacters - atEnd - 1)}…${text.slice(text.length - atEnd)}`;
}
