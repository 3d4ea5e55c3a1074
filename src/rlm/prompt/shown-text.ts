/** Text as a model sees it: the beginning and the end, with the length of the whole. */
export interface ShownText {
  readonly text: string;
  /** length of the whole text */
  readonly chars: number;
}

/** Keeps the head and the tail of a text that is longer than `maxChars`. `chars`: the true length, if the text is a part already. */
export function shownText(text: string, maxChars: number, chars = text.length): ShownText {
  if (text.length <= maxChars) return { text: marked(text), chars };
  const half = Math.floor(maxChars / 2);
  const omitted = text.length - 2 * half;
  const head = text.slice(0, half).replace(/[\ud800-\udbff]$/, "");
  const tail = half === 0 ? "" : text.slice(-half).replace(/^[\udc00-\udfff]/, "");
  const middle = `… (${omitted.toLocaleString("en-US")} characters omitted) …`;
  return { text: `${marked(head)}\n\n${middle}\n\n${marked(tail)}`, chars };
}

/** The attack: a program prints our line about omitted text, so that a model believes its output to have a gap. */
function marked(text: string): string {
  return text.replace(/^\s*(?=(?:…|\.\.\.) ?\([\d,.]+ characters omitted\))/gm, "$&\\");
}
