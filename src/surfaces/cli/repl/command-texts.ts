import type { Session } from "../../../sessions/session.ts";
import { safeText } from "../format/text/safe-text.ts";

type Variables = Awaited<ReturnType<Session["variables"]>>;

/** `%who`: the names alone, in columns. They come from the cell. */
export function namesText(variables: Variables, width: number): string {
  const names = variables.map(({ name }) => safeText(name.replace(/\s/g, " "))).sort();
  if (names.length === 0) return "no variables\n";
  const column = Math.max(...names.map((name) => name.length)) + 2;
  const perLine = Math.max(1, Math.floor(Math.min(width, 200) / column));
  const lines: string[] = [];
  for (let at = 0; at < names.length; at += perLine) {
    lines.push(
      names
        .slice(at, at + perLine)
        .map((name) => name.padEnd(column))
        .join("")
        .trimEnd(),
    );
  }
  return `${lines.join("\n")}\n`;
}

/** `%history`: entries as they can be typed again. */
export function historyText(entries: readonly { readonly language: string; readonly code: string }[]): string {
  if (entries.length === 0) return "no entries\n";
  return entries.map(({ language, code }) => `${language === "bash" ? "!" : ""}${safeText(code.trimEnd())}\n`).join("");
}
