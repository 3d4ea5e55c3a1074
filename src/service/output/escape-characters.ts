/** Characters that are looked at in one step. */
const stepUnits = 8192;
/** The longest escape of one UTF-16 unit: `\u{d800}`. A pair takes at most `\u{10ffff}`, which is less than two of these. */
const longestEscape = 8;

/**
 * Replaces each character that `unwanted` matches by its escape. `String.replace` calls a function for each match: for output
 * of nothing but control characters that took ten times as long as the rest of a reply.
 */
export function escapeCharacters(text: string, unwanted: RegExp): string {
  const first = text.search(unwanted);
  if (first === -1) return text;
  const escapes = new Map<number, string>();
  const escapeOf = (code: number): string => {
    let known = escapes.get(code);
    if (known === undefined) {
      known = unwanted.test(String.fromCodePoint(code)) ? escaped(code) : "";
      escapes.set(code, known);
    }
    return known;
  };
  const units = new Uint16Array((Math.min(stepUnits, text.length - first) + 1) * longestEscape);
  const parts = [text.slice(0, first)];
  for (let at = first; at < text.length; ) {
    let length = 0;
    let all = 0;
    for (const end = Math.min(at + stepUnits, text.length); at < end; ) {
      const code = text.codePointAt(at) ?? 0;
      // letters, digits and signs of ASCII are never unwanted
      const replaced = code > 0x1f && code < 0x7f ? "" : escapeOf(code);
      const shown = replaced === "" ? text : replaced;
      const unitCount = code > 0xffff ? 2 : 1;
      const from = replaced === "" ? at : 0;
      const to = replaced === "" ? at + unitCount : replaced.length;
      for (let index = from; index < to; index++) {
        const unit = shown.charCodeAt(index);
        all |= unit;
        units[length++] = unit;
      }
      at += unitCount;
    }
    parts.push(textOf(units.subarray(0, length), all));
  }
  return parts.join("");
}

/** Text of Latin letters takes half as much memory as other text, if it is made that way. */
function textOf(units: Uint16Array, all: number): string {
  if (all < 0x100) return Buffer.from(units).toString("latin1");
  return Buffer.from(units.buffer, units.byteOffset, units.byteLength).toString("utf16le");
}

function escaped(code: number): string {
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
}
