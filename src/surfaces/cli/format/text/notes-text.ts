import type { SrtNote } from "../../../../policy/srt/srt-notes.ts";

/** What the settings cannot enforce, one line each. */
export function notesText(notes: readonly SrtNote[]): string {
  return notes
    .map(({ rules, note }) => `codecell: note: ${rules.length === 0 ? "" : `${rules.join(", ")}: `}${note}\n`)
    .join("");
}
