import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import {
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
  const { file, sha256, mimeType } = await openServedFile(files, name, options);
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
      else await write(response, file, { start, end, sha256 }, options.stallMs);
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

/** Holds back the last chunk until the digest matches. If it does not, the client sees an incomplete response. */
async function write(
  response: ServerResponse,
  file: ServedFile["file"],
  { start, end, sha256 }: { start: number; end: number; sha256: string },
  stallMs: number,
): Promise<void> {
  const isWhole = start === 0 && end === file.size;
  const hash = createHash("sha256");
  let held: Uint8Array | undefined;
  for await (const chunk of file.chunks({ start, end })) {
    if (isWhole) hash.update(chunk);
    if (held && !(await writeAll(response, held, stallMs))) return;
    held = chunk;
  }
  const isSame = isWhole ? hash.digest("hex") === sha256 : await file.isUnchanged();
  if (!isSame) response.destroy();
  else response.end(held);
}
