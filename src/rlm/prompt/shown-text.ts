/** Text as a model sees it: the beginning and the end, with the length of the whole. */
export interface ShownText {
  readonly text: string;
  /** length of the whole text */
  readonly chars: number;
}

/** Keeps the head and the tail of a text that is longer than `maxChars`. `chars`: the true length, if the text is a part already. */
export function shownText(text: string, maxChars: number, chars = text.length): ShownText {
  if (text.length <= maxChars) return { text, chars };
  const half = Math.floor(maxChars / 2);
  const omitted = text.length - 2 * half;
  const head = text.slice(0, half).replace(/[\ud800-\udbff]$/, "");
  const tail = half === 0 ? "" : text.slice(-half).replace(/^[\udc00-\udfff]/, "");
  return { text: `${head}\n\n… (${omitted.toLocaleString("en-US")} characters omitted) …\n\n${tail}`, chars };
}
