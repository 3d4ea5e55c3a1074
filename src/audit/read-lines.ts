import { createReadStream } from "node:fs";
import { maxLineBytes } from "./chain/chain-files.ts";

/** One line of a file, as bytes and without its line feed. */
export interface FileLine {
  /** from 1 */
  readonly number: number;
  readonly bytes: Buffer;
  /** false: the file ends here, without a line feed */
  readonly isEnded: boolean;
  /** longer than any line we write; `bytes` is its beginning */
  readonly isTooLong: boolean;
}

/** The lines of a file of any size, one in memory at a time. */
export function readLines(path: string, start = 0): AsyncGenerator<FileLine, void, void> {
  return splitLines(createReadStream(path, { start, highWaterMark: 256 * 1024 }));
}

export async function* splitLines(
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
): AsyncGenerator<FileLine, void, void> {
  let parts: Buffer[] = [];
  let size = 0;
  let isTooLong = false;
  let number = 0;
  const keep = (piece: Buffer) => {
    if (piece.length === 0 || isTooLong) return;
    parts.push(piece);
    size += piece.length;
    // The attack: a file without line feeds that takes all memory.
    isTooLong = size > maxLineBytes;
  };
  const take = (isEnded: boolean): FileLine => {
    const line = { number: ++number, bytes: parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts) };
    const taken = { ...line, isEnded, isTooLong };
    parts = [];
    size = 0;
    isTooLong = false;
    return taken;
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, start)) {
      keep(chunk.subarray(start, at));
      yield take(true);
      start = at + 1;
    }
    keep(chunk.subarray(start));
  }
  if (size > 0) yield take(false);
}
