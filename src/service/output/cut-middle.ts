import { type Collapsed, originalPosition } from "./collapse-repeats.ts";

export interface Cut {
  readonly text: string;
  /** characters of the original that are not shown, between head and tail */
  readonly leftOut: number;
  readonly head: string;
  readonly tail: string;
}

export interface CutOptions {
  /** characters that the answer may take, marker included; a marker alone may take more */
  readonly room: number;
  /** the part of the room that the beginning gets, from 0 to 1 */
  readonly headShare: number;
  /** the line that says what is missing; longest for the largest numbers */
  readonly marker: (leftOut: number, offset: number) => string;
}

/** Keeps head and tail of a text: at line ends where they are near, never inside a surrogate pair or a notice. */
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

/** What a marker may take with the line ends around it. */
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

/** Whether a cut here would leave half a character on each side. */
export function splitsPair(text: string, at: number): boolean {
  return (text.codePointAt(at - 1) ?? 0) > 0xffff;
}
