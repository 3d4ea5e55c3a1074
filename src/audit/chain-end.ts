import { type FileHandle, open } from "node:fs/promises";
import { type ChainLine, genesisHash, openLine, sha256 } from "./chain.ts";
import { filePath, listFiles, maxLineBytes, readHead } from "./chain-files.ts";

/** Where a chain goes on: what its next line follows, and what a crash left behind the last whole line. */
export interface ChainEnd {
  readonly seq: number;
  readonly hash: string;
  /** number of the last file, 0 before the first */
  readonly file: number;
  readonly fileBytes: number;
  /** when that file was begun */
  readonly begunMs: number;
  readonly torn: { readonly bytes: number; readonly sha256: string } | undefined;
  /** the last line is whole and lacks only its line feed */
  readonly lacksLineFeed: boolean;
}

/**
 * Looks at the end of a chain before it is continued. Undefined: it is not as a writer leaves it, and whoever went on with
 * it would cover up what was done to it; it stays as it is, for `verify` to tell.
 */
export async function findChainEnd(dir: string, chain: string): Promise<ChainEnd | undefined> {
  const head = await readHead(dir, chain);
  if (head === "damaged") return undefined;
  const files = await listFiles(dir, chain);
  const last = files.at(-1);
  if (last === undefined) return typeof head === "string" ? fresh(chain) : undefined;
  const end = await lookAt(filePath(dir, chain, last), (await beforeFile(dir, chain, files)) ?? fresh(chain), last);
  if (end === undefined) return undefined;
  if (head === "empty") return end;
  if (head === "missing") return end.seq === 0 ? end : undefined;
  // A chain that is shorter than its head has lost lines that were on disk for good.
  if (end.seq < head.seq || (end.seq === head.seq && end.hash !== head.hash)) return undefined;
  return end;
}

/** The last line of a file that is ended as a writer ends one. */
export async function lastLineOf(path: string): Promise<Pick<ChainLine, "seq" | "hash"> | undefined> {
  const end = await lookAt(path, undefined, 0);
  return end && !end.torn && !end.lacksLineFeed ? end : undefined;
}

function fresh(chain: string): ChainEnd {
  const nothing = { torn: undefined, lacksLineFeed: false };
  return { seq: 0, hash: genesisHash(chain), file: 0, fileBytes: 0, begunMs: 0, ...nothing };
}

/** The last line of the file before the last, which a crash may have left empty or with a torn line alone. */
async function beforeFile(dir: string, chain: string, files: readonly number[]): Promise<ChainEnd | undefined> {
  const number = files.at(-2);
  return number === undefined ? undefined : lookAt(filePath(dir, chain, number), undefined, number);
}

async function lookAt(path: string, before: ChainEnd | undefined, number: number): Promise<ChainEnd | undefined> {
  const file = await open(path, "r");
  try {
    const { size, birthtimeMs, mtimeMs } = await file.stat();
    const { lastLine, rest } = await readEnd(file, size);
    const begunMs = (await firstLineMs(file, size)) ?? Math.min(birthtimeMs || mtimeMs, mtimeMs);
    const place = { file: number, fileBytes: size, begunMs };
    const last = lastLine === undefined ? undefined : openLine(lastLine);
    if (last && "problem" in last) return undefined;
    const base: Pick<ChainLine, "seq" | "hash"> | undefined = last ?? before;
    if (base === undefined) return undefined;
    const { seq, hash } = base;
    if (rest.length === 0) return { ...place, seq, hash, torn: undefined, lacksLineFeed: false };
    const whole = openLine(rest);
    if (!("problem" in whole) && whole.prev === hash && whole.seq === seq + 1) {
      return { ...place, seq: whole.seq, hash: whole.hash, torn: undefined, lacksLineFeed: true };
    }
    const torn = { bytes: rest.length, sha256: sha256(rest) };
    return { ...place, seq, hash, torn, lacksLineFeed: false };
  } finally {
    await file.close();
  }
}

/** The last line that is ended, and what stands behind it. Reads backwards, so the size of the file does not matter. */
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
