/** Keys as they are typed, or a text that was pasted at once. */
export type TypedPart = { readonly keys: string } | { readonly paste: string };

const begin = "\u001b[200~";
const end = "\u001b[201~";
/** More is dropped: a paste is code, and runs are limited to about this much. */
const maxPaste = 2 * 1024 * 1024;

/** Separates pasted text from typed keys, as terminals mark it in bracketed paste mode. */
export class PasteSplitter {
  /** the pasted text so far; undefined: keys are being typed */
  #paste: string | undefined;
  #held = "";

  push(text: string): TypedPart[] {
    const parts: TypedPart[] = [];
    let rest = this.#held + text;
    this.#held = "";
    while (rest !== "") {
      rest = this.#paste === undefined ? this.#takeKeys(rest, parts) : this.#takePaste(rest, parts);
    }
    return parts;
  }

  #takeKeys(text: string, parts: TypedPart[]): string {
    const at = text.indexOf(begin);
    const kept = at === -1 ? heldAtEnd(text, begin) : 0;
    const keys = at === -1 ? text.slice(0, text.length - kept) : text.slice(0, at);
    if (keys !== "") parts.push({ keys });
    if (at === -1) {
      this.#held = text.slice(text.length - kept);
      return "";
    }
    this.#paste = "";
    return text.slice(at + begin.length);
  }

  #takePaste(text: string, parts: TypedPart[]): string {
    const at = text.indexOf(end);
    const kept = at === -1 ? heldAtEnd(text, end) : 0;
    const more = text.slice(0, at === -1 ? text.length - kept : at);
    const paste = ((this.#paste ?? "") + more).slice(0, maxPaste);
    if (at === -1) {
      this.#paste = paste;
      this.#held = text.slice(text.length - kept);
      return "";
    }
    this.#paste = undefined;
    parts.push({ paste });
    return text.slice(at + end.length);
  }
}

/** How many characters at the end may be the start of a mark. A lone Esc is a key, and must not wait. */
function heldAtEnd(text: string, mark: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 2; length--) {
    if (text.endsWith(mark.slice(0, length))) return length;
  }
  return 0;
}
