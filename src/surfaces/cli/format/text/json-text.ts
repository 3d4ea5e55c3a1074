/**
 * One JSON object on one line. Control characters that JSON does not escape (DEL and the 8-bit ones) are
 * escaped, because a terminal may obey them.
 */
export function jsonText(value: object): string {
  const json = JSON.stringify(value);
  const escaped = json.replace(/[\u007f-\u009f]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return `${escaped}\n`;
}
