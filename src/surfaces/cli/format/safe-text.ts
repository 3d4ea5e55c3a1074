/** ESC [ … m: colours and bold, the only harmless sequences. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: ESC is what starts a sequence
const colour = /^\u001b\[[0-9;:]{0,32}m/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const maybeColour = /^\u001b(?:\[[0-9;:]{0,32})?$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is made visible
const unsafe = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

/**
 * Makes what a program prints safe for a terminal. The attack: escape sequences that write the clipboard (OSC 52), set the
 * title, move the cursor to forge earlier lines, or make the terminal type an answer into the shell; and bidirectional
 * controls that show a text in another order. Newline, tab, carriage return and colours pass; every other control
 * character is made visible, as in `cat -v`. Direction marks pass: Arabic and Hebrew text needs them.
 */
export class SafeText {
  /** the start of a sequence that may become a colour */
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
      } else if (maybeColour.test(rest)) {
        this.#held = rest;
        return safe;
      } else {
        safe += visible(rest);
        rest = rest.slice(1);
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
  const code = text.charCodeAt(0);
  if (code < 0x20) return `^${String.fromCharCode(code + 64)}`;
  return code === 0x7f ? "^?" : `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
}
