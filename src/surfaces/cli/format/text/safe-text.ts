/** ESC [ … m: colours and bold, the only harmless sequences. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: ESC is what starts a sequence
const colour = /^\u001b\[[0-9;:]{0,32}m/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const maybeColour = /^\u001b(?:\[[0-9;:]{0,32})?$/;
const unsafe =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is made visible
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b\u2028-\u202e\u2060-\u206f\ufeff\udb40]/;
/** The first half of the invisible characters from U+E0000 to U+E03FF: tags and more variation selectors. */
const tagHalf = "\udb40";

/**
 * Makes what a program prints safe for a terminal. The attack: escape sequences that write the clipboard (OSC 52), set the
 * title, move the cursor to forge earlier lines, or make the terminal type an answer into the shell; bidirectional
 * controls that show a text in another order; and invisible characters that hide sentences in what people copy. Newline,
 * tab, carriage return and colours pass; every other control character is made visible, as in `cat -v`. Direction marks
 * pass: Arabic and Hebrew text needs them.
 */
export class SafeText {
  /** the start of a sequence that may become a colour, or half a character */
  #held = "";
  #coloured = false;

  push(text: string): string {
    let rest = this.#held + text;
    let safe = "";
    this.#held = "";
    for (let at = rest.search(unsafe); at >= 0; at = rest.search(unsafe)) {
      safe += rest.slice(0, at);
      rest = rest.slice(at);
      const sequence = colour.exec(rest)?.[0];
      if (sequence !== undefined) {
        this.#coloured = true;
        safe += sequence;
        rest = rest.slice(sequence.length);
      } else if (maybeColour.test(rest) || rest === tagHalf) {
        this.#held = rest;
        return safe;
      } else {
        safe += visible(rest);
        rest = rest.slice((rest.codePointAt(0) ?? 0) > 0xffff ? 2 : 1);
      }
    }
    return safe + rest;
  }

  /** Returns the held text and resets the colour, so that it does not leak into the prompt. */
  end(): string {
    const held = this.#held.replaceAll("\u001b", "^[");
    const reset = this.#coloured ? "\u001b[0m" : "";
    this.#held = "";
    this.#coloured = false;
    return held + reset;
  }
}

/** One whole text, made safe. */
export function safeText(text: string): string {
  const safe = new SafeText();
  return safe.push(text) + safe.end();
}

function visible(text: string): string {
  const code = text.codePointAt(0) ?? 0;
  if (code < 0x20) return `^${String.fromCharCode(code + 64)}`;
  return code === 0x7f ? "^?" : `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
}
