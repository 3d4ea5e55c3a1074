import { type Collapsed, originalPosition } from "./collapse-repeats.ts";

export interface Cut {
  readonly text: string;
  /** characters of the original that are not shown, between head and tail */
  readonly leftOut: number;
  readonly head: string;
  readonly tail: string;
}

export interface CutOptions {
  /** maximum length of the result, marker included; only a marker alone may be longer */
  readonly room: number;
  /** the share of the room for the beginning, from 0 to 1 */
  readonly headShare: number;
  /** the line that tells what is missing; it must be longest for the largest numbers */
  readonly marker: (leftOut: number, offset: number) => string;
}

/** Keeps the head and tail of a text. It cuts at a line end if one is near, never inside a surrogate pair or a notice. */
export function cutMiddle(collapsed: Collapsed, options: CutOptions): Cut {
  const { text } = collapsed;
  if (text.length <= options.room) return { text, leftOut: 0, head: text, tail: "" };
  const room = Math.max(0, options.room - longestMarker(collapsed, options.marker));
  const headEnd = headCut(collapsed, Math.floor(room * options.headShare));
  const tailStart = tailCut(collapsed, room - headEnd);
  const offset = originalPosition(collapsed, headEnd);
  const leftOut = originalPosition(collapsed, tailStart) - offset;
  const head = text.slice(0, headEnd);
  const tail = text.slice(tailStart);
  const before = head === "" || head.endsWith("\n") ? head : `${head}\n`;
  return { text: `${before}${options.marker(leftOut, offset)}\n${tail}`, leftOut, head, tail };
}

/** The maximum length of a marker with the line ends around it. */
export function longestMarker(collapsed: Collapsed, marker: CutOptions["marker"]): number {
  return marker(collapsed.originalLength, collapsed.originalLength).length + 2;
}

function headCut({ text, repeats }: Collapsed, room: number): number {
  if (room <= 0) return 0;
  const lineEnd = text.lastIndexOf("\n", room - 1) + 1;
  const end = lineEnd >= room / 2 ? lineEnd : room - (splitsPair(text, room) ? 1 : 0);
  return repeats.find((one) => one.at < end && end < one.end)?.at ?? end;
}

function tailCut({ text, repeats }: Collapsed, room: number): number {
  if (room <= 0) return text.length;
  const start = text.length - room;
  const lineStart = text.indexOf("\n", start - 1) + 1;
  const atLine = lineStart > 0 && text.length - lineStart >= room / 2;
  const cut = atLine ? lineStart : start + (splitsPair(text, start) ? 1 : 0);
  // "the line above" needs the whole line above
  return repeats.find((one) => one.lineAt < cut && cut < one.end)?.end ?? cut;
}

/** Whether a cut here would split a surrogate pair. */
export function splitsPair(text: string, at: number): boolean {
  return (text.codePointAt(at - 1) ?? 0) > 0xffff;
}
