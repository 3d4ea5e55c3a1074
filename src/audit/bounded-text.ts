/** What one event holds of a text that a caller or a program chose, as bytes of JSON. */
export const maxTextBytes = 64 * 1024;

/** The beginning of a text that fits into an event. Control characters count as the six bytes that JSON makes of them. */
export function beginningOf(text: string, maxBytes = maxTextBytes): string {
  let kept = text.slice(0, maxBytes);
  for (let bytes = jsonBytes(kept); bytes > maxBytes; bytes = jsonBytes(kept)) {
    kept = kept.slice(0, Math.floor((kept.length * maxBytes) / bytes));
  }
  return kept.length === text.length ? text : kept.replace(/[\ud800-\udbff]$/, "");
}

/** The first items whose names fit into an event together. */
export function firstNamed<Item extends { readonly name: string }>(items: readonly Item[]): readonly Item[] {
  let bytes = 0;
  const end = items.findIndex(({ name }) => {
    bytes += jsonBytes(name);
    return bytes > maxTextBytes;
  });
  return end === -1 ? items : items.slice(0, end);
}

function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}
