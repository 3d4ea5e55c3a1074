import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  type BlockDigests,
  BlockHasher,
  type HashCache,
  openServedFile,
  type ServedFile,
  type WorkspaceFiles,
} from "../../../service/files/served-file.ts";
import type { Reply } from "../route.ts";
import { chooseRange } from "./byte-range.ts";
import { HttpError } from "./error-status.ts";
import { fileHeaders } from "./file-headers.ts";
import { writeAll } from "./sse.ts";

const feedBytes = 256 * 1024;

export interface SendFileOptions {
  readonly disposition: "attachment" | "inline";
  /** digest in the link; a file with another digest is refused */
  readonly sha256?: string;
  readonly digests: HashCache;
  readonly stallMs: number;
  /** aborted when the client disconnects */
  readonly signal: AbortSignal;
}

/** A reply that writes the response itself. */
export type FileReply = Extract<Reply, { readonly send: unknown }>;

/** Sends a file or one range of it. It is opened once, so that renaming it has no effect. */
export async function sendFile(
  files: WorkspaceFiles,
  name: string,
  request: IncomingMessage,
  options: SendFileOptions,
): Promise<FileReply> {
  const needsBlocks = options.sha256 !== undefined && request.headers.range !== undefined;
  const { file, sha256, mimeType, blocks } = await openServedFile(files, name, { ...options, needsBlocks });
  try {
    if (options.sha256 !== undefined && options.sha256 !== sha256) {
      throw new HttpError("link_stale", "the file has changed since the link was created", {
        hint: "create a new link",
      });
    }
    const etag = `"${sha256}"`;
    const ifRange = request.headers["if-range"];
    const wanted = ifRange === undefined || ifRange === etag ? request.headers.range : undefined;
    const range = chooseRange(wanted, file.size);
    if (range.kind === "unsatisfiable") {
      const headers = { "content-range": `bytes */${file.size}` };
      throw new HttpError("range_not_satisfiable", `the file has ${file.size} bytes`, { headers });
    }
    const { start, end } = range.kind === "part" ? range : { start: 0, end: file.size };
    const headers = {
      ...fileHeaders(name, mimeType, options.disposition),
      etag,
      ...lastModified(file.modifiedMs),
      "content-length": String(end - start),
      ...(range.kind === "part" ? { "content-range": `bytes ${start}-${end - 1}/${file.size}` } : {}),
    };
    const send = async (response: ServerResponse) => {
      await using _closing = file;
      response.writeHead(range.kind === "part" ? 206 : 200, headers);
      if (request.method === "HEAD") response.end();
      else await write(response, file, { start, end, sha256, blocks }, options.stallMs);
    };
    return { send };
  } catch (error) {
    await file[Symbol.asyncDispose]();
    throw error;
  }
}

/** Nothing for times outside the range of dates, which a program can set. */
function lastModified(ms: number): Record<string, string> {
  const date = new Date(ms);
  const isShown = !Number.isNaN(date.getTime()) && date.getUTCFullYear() >= 0 && date.getUTCFullYear() < 10_000;
  return isShown ? { "last-modified": date.toUTCString() } : {};
}

interface SentRange {
  readonly start: number;
  readonly end: number;
  readonly sha256: string;
  readonly blocks?: BlockDigests | undefined;
}

/** Holds back the last chunk until the digest matches. If it does not, the client sees an incomplete response. */
async function write(
  response: ServerResponse,
  file: ServedFile["file"],
  range: SentRange,
  stallMs: number,
): Promise<void> {
  const { start, end } = range;
  const check = start === 0 && end === file.size ? wholeCheck(range.sha256) : await partCheck(file, range);
  let held: Uint8Array | undefined;
  for await (const chunk of file.chunks({ start, end })) {
    check.update(chunk);
    if (held && !(await writeAll(response, held, stallMs))) return;
    held = chunk;
  }
  if (await check.isSame()) response.end(held);
  else response.destroy();
}

/** Verifies the bytes that are sent. */
interface ContentCheck {
  update(chunk: Uint8Array): void;
  isSame(): Promise<boolean>;
}

function wholeCheck(sha256: string): ContentCheck {
  const hash = createHash("sha256");
  return { update: (chunk) => void hash.update(chunk), isSame: async () => hash.digest("hex") === sha256 };
}

/**
 * Verifies every block that a part touches, if their digests are known. The attack: a program changes a file through a memory map,
 * which no time of the file shows, and a link that was signed for the old content serves the new one.
 */
async function partCheck(file: ServedFile["file"], { start, end, blocks }: SentRange): Promise<ContentCheck> {
  if (!blocks) return { update() {}, isSame: () => file.isUnchanged() };
  const { blockBytes, digests } = blocks;
  let at = Math.floor(start / blockBytes);
  let isSame = true;
  const hasher = new BlockHasher(blockBytes, (digest) => {
    isSame &&= digests[at++]?.equals(digest) === true;
  });
  await feed(file, hasher, at * blockBytes, start);
  return {
    update: (chunk) => hasher.update(chunk),
    async isSame() {
      await feed(file, hasher, end, Math.min(Math.ceil(end / blockBytes) * blockBytes, file.size));
      hasher.end();
      return isSame && (await file.isUnchanged());
    },
  };
}

/** Hashes bytes of a block that are not sent. */
async function feed(file: ServedFile["file"], hasher: BlockHasher, start: number, end: number): Promise<void> {
  const buffer = new Uint8Array(Math.min(feedBytes, end - start));
  for (let at = start; at < end; ) {
    const length = await file.readInto(buffer.subarray(0, Math.min(buffer.length, end - at)), at);
    if (length === 0) return; // the file became shorter, and the digest does not match
    hasher.update(buffer.subarray(0, length));
    at += length;
  }
}
