/** Lines that a notice stands for. */
export interface Repeats {
  /** where the line begins that is repeated, in the collapsed text */
  readonly lineAt: number;
  /** where the notice begins and ends, in the collapsed text */
  readonly at: number;
  readonly end: number;
  readonly originalStart: number;
  readonly originalEnd: number;
}

export interface Collapsed {
  readonly text: string;
  /** in order */
  readonly repeats: readonly Repeats[];
  /** length of the text before */
  readonly originalLength: number;
}

/** Below this many characters of repetition, which is twice a notice, equal lines read better as they are. */
const worthCharacters = 120;

/** Says a line once that comes many times in a row: `… the line above 9,998 more times`. */
export function collapseRepeats(original: string): Collapsed {
  if (original.length < worthCharacters) return { text: original, repeats: [], originalLength: original.length };
  const parts: string[] = [];
  const repeats: Repeats[] = [];
  let length = 0;
  let copied = 0; // how far of the original is in `parts`
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
    if (saved >= worthCharacters) {
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

/** Where a position of the collapsed text lies in the original; positions inside a notice do not occur. */
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
