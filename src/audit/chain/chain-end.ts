import { type FileHandle, open } from "node:fs/promises";
import { readLines } from "../read-lines.ts";
import { type ChainLine, genesisHash, type LineFacts, openLine } from "./chain.ts";
import { filePath, listFiles, maxLineBytes, readHead } from "./chain-files.ts";
import { type Followed, TornPart } from "./torn-part.ts";

/** The end of a chain: its last complete line, and what a crash left after it. */
export interface ChainEnd {
  readonly seq: number;
  readonly hash: string;
  /** number of the last file, 0 before the first */
  readonly file: number;
  readonly fileBytes: number;
  /** when that file was started */
  readonly begunMs: number;
  readonly torn: { readonly bytes: number; readonly sha256: string } | undefined;
  /** the last bytes, complete line or torn part, have no line feed */
  readonly lacksLineFeed: boolean;
  /** everything up to here is synced to disk: the head names the last line */
  readonly isOnDisk: boolean;
}

/**
 * Checks the end of a chain before it is continued. Undefined: it is not as a writer leaves it. Continuing it would cover up
 * tampering, so it stays as it is for `verify` to report.
 */
export async function findChainEnd(dir: string, chain: string): Promise<ChainEnd | undefined> {
  const head = await readHead(dir, chain);
  if (head === "damaged") return undefined;
  const files = await listFiles(dir, chain);
  // The head is written before the first line.
  if (typeof head === "string") return files.length === 0 ? fresh(chain) : undefined;
  const last = files.at(-1);
  if (last === undefined) return head.seq === 0 ? fresh(chain) : undefined;
  const path = filePath(dir, chain, last);
  const file = await open(path, "r");
  try {
    const { size, birthtimeMs, mtimeMs } = await file.stat();
    const begunMs = (await firstLineMs(file, size)) ?? Math.min(birthtimeMs || mtimeMs, mtimeMs);
    const place = { file: last, fileBytes: size, begunMs };
    const { lastLine, rest } = await readEnd(file, size);
    const line = lastLine === undefined || rest.length > 0 ? undefined : openLine(lastLine);
    if (line && !("problem" in line) && line.seq === head.seq && line.hash === head.hash) {
      return { ...place, seq: line.seq, hash: line.hash, torn: undefined, lacksLineFeed: false, isOnDisk: true };
    }
    const end = await walk(path, await beforeFile(dir, chain, files), head);
    return end && { ...place, ...end, isOnDisk: false };
  } finally {
    await file.close();
  }
}

/** The last line of a file that a writer closed properly. */
export async function lastLineOf(path: string): Promise<LineFacts | undefined> {
  const file = await open(path, "r");
  try {
    const { lastLine, rest } = await readEnd(file, (await file.stat()).size);
    const line = lastLine === undefined || rest.length > 0 ? undefined : openLine(lastLine);
    return line && !("problem" in line) ? line : undefined;
  } finally {
    await file.close();
  }
}

function fresh(chain: string): ChainEnd {
  const nothing = { torn: undefined, lacksLineFeed: false, isOnDisk: true };
  return { seq: 0, hash: genesisHash(chain), file: 0, fileBytes: 0, begunMs: 0, ...nothing };
}

/** The line before the first line of the last file; undefined if the previous file was removed. */
async function beforeFile(dir: string, chain: string, files: readonly number[]): Promise<Followed | undefined> {
  const [last, number] = [files.at(-1), files.at(-2)];
  if (number === undefined) return last === 1 ? fresh(chain) : undefined;
  return lastLineOf(filePath(dir, chain, number));
}

/**
 * Reads the last file from its beginning, for a chain whose writer did not close it. Every line up to the head was synced to
 * disk and must be intact. After it a crash may have left a torn part. Earlier files were complete on disk before this one was
 * started.
 */
async function walk(
  path: string,
  before: Followed | undefined,
  head: Followed,
): Promise<Pick<ChainEnd, "seq" | "hash" | "torn" | "lacksLineFeed"> | undefined> {
  let last = before;
  let part: TornPart | undefined;
  let isEnded = true;
  for await (const line of readLines(path)) {
    const opened = line.isTooLong ? { problem: "too long" } : openLine(line.bytes);
    isEnded = line.isEnded;
    if (!("problem" in opened) && (part ? part.isSealedBy(opened) : follows(opened, last))) {
      if (opened.seq === head.seq && opened.hash !== head.hash) return undefined;
      last = opened;
      part = undefined;
    } else {
      if (last === undefined) return undefined;
      part ??= new TornPart(last);
      part.add(line, opened);
    }
  }
  if (last === undefined || last.seq < head.seq || part?.isFromCrash === false) return undefined;
  const { seq, hash } = last;
  const torn = part && { bytes: part.bytes, sha256: part.sha256 };
  return { seq, hash, torn, lacksLineFeed: !isEnded };
}

function follows({ seq, prev }: ChainLine, last: Followed | undefined): boolean {
  return last === undefined || (seq === last.seq + 1 && prev === last.hash);
}

/** The last line with a line feed, and what comes after it. Reads backwards, so the size of the file does not matter. */
async function readEnd(file: FileHandle, size: number): Promise<{ lastLine: Buffer | undefined; rest: Buffer }> {
  for (let window = 64 * 1024; ; window *= 4) {
    const length = Math.min(window, size);
    const bytes = Buffer.alloc(length);
    await readFully(file, bytes, size - length);
    const end = bytes.lastIndexOf(10);
    const start = end <= 0 ? -1 : bytes.lastIndexOf(10, end - 1);
    if (start !== -1 || length === size || window > 2 * maxLineBytes) {
      if (end === -1) return { lastLine: undefined, rest: bytes };
      return { lastLine: bytes.subarray(start + 1, end), rest: bytes.subarray(end + 1) };
    }
  }
}

async function firstLineMs(file: FileHandle, size: number): Promise<number | undefined> {
  const bytes = Buffer.alloc(Math.min(256, size));
  await readFully(file, bytes, 0);
  const time = /^\{"v":1,"seq":\d+,"time":"([^"]+)"/.exec(bytes.toString("latin1"))?.[1];
  const ms = time === undefined ? Number.NaN : Date.parse(time);
  return Number.isFinite(ms) ? ms : undefined;
}

async function readFully(file: FileHandle, bytes: Buffer, from: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { bytesRead } = await file.read(bytes, at, bytes.length - at, from + at);
    if (bytesRead === 0) return;
    at += bytesRead;
  }
}
