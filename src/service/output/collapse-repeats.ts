/** Repeated lines that a notice replaces. */
export interface Repeats {
  /** start of the repeated line, in the collapsed text */
  readonly lineAt: number;
  /** start and end of the notice, in the collapsed text */
  readonly at: number;
  readonly end: number;
  readonly originalStart: number;
  readonly originalEnd: number;
}

export interface Collapsed {
  readonly text: string;
  /** in order */
  readonly repeats: readonly Repeats[];
  /** length of the text before collapsing */
  readonly originalLength: number;
}

/** Minimum of repeated characters to collapse: about twice the length of a notice. */
const minRepeatedCharacters = 120;

/** Replaces repeats of a line with a notice: `… the line above 9,998 more times`. */
export function collapseRepeats(original: string): Collapsed {
  if (original.length < minRepeatedCharacters) return { text: original, repeats: [], originalLength: original.length };
  const parts: string[] = [];
  const repeats: Repeats[] = [];
  let length = 0;
  let copied = 0; // end of the part of the original that is in `parts`
  const copyTo = (end: number) => {
    parts.push(original.slice(copied, end));
    length += end - copied;
    copied = end;
  };
  for (let start = 0; start < original.length; ) {
    const lineEnd = original.indexOf("\n", start);
    if (lineEnd === -1) break;
    const size = lineEnd + 1 - start;
    const end = endOfRepeats(original, start, size);
    const saved = end - start - size;
    if (saved >= minRepeatedCharacters) {
      const notice = noticeOf(saved / size);
      copyTo(start + size);
      const at = length;
      const notices = { lineAt: at - size, at, end: at + notice.length };
      repeats.push({ ...notices, originalStart: start + size, originalEnd: end });
      parts.push(notice);
      length += notice.length;
      copied = end;
    }
    start = end;
  }
  copyTo(original.length);
  return { text: parts.join(""), repeats, originalLength: original.length };
}

/** Maps a position of the collapsed text to the original. The position must not be inside a notice. */
export function originalPosition(collapsed: Collapsed, position: number): number {
  let shift = 0;
  for (const one of collapsed.repeats) {
    if (one.end > position) break;
    shift += one.originalEnd - one.originalStart - (one.end - one.at);
  }
  return position + shift;
}

function noticeOf(times: number): string {
  return `… the line above ${times.toLocaleString("en-US")} more time${times > 1 ? "s" : ""}\n`;
}

function endOfRepeats(text: string, start: number, size: number): number {
  const line = text.slice(start, start + size);
  let end = start + size;
  while (text.startsWith(line, end)) end += size;
  return end;
}
