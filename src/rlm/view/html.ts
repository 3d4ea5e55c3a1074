/** Markup that is safe to put into a page as it is. */
export class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

type Part = Html | string | number | undefined | readonly Part[];

/** Builds markup. Every value that is not `Html` is untrusted text and is escaped. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.map((text, index) => text + (index < parts.length ? markupOf(parts[index]) : "")).join(""));
}

function markupOf(part: Part): string {
  if (part === undefined) return "";
  if (part instanceof Html) return part.markup;
  if (typeof part === "string" || typeof part === "number") return escapeHtml(String(part));
  return part.map(markupOf).join("");
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is made visible
const invisible = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ud800-\udfff]/gu;

/**
 * Escapes text for an element or a quoted attribute. The attacks: markup in the output of a program, and bidirectional controls
 * that show code in another order than it runs.
 */
export function escapeHtml(text: string): string {
  return text
    .replace(/[&<>"']/g, (character) => entities[character] ?? "")
    .replace(invisible, (character) => {
      const code = character.charCodeAt(0);
      return code < 0x20
        ? `^${escapeHtml(String.fromCharCode(code + 64))}`
        : `&lt;U+${code.toString(16).toUpperCase().padStart(4, "0")}&gt;`;
    });
}
