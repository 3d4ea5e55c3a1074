import type { FileStream } from "../../artifacts/workspace-file.ts";
import { CodecellError } from "../../lib/errors.ts";
import { delayBefore, pause } from "../http/backoff.ts";
import { isTransient, type OpenResponse, type Request, type Transport } from "../http/transport.ts";

interface Range {
  readonly start: number;
  /** exclusive; undefined: to the end of the file */
  readonly end: number | undefined;
}

/** Opens a file of the service. Its data is read as fast as the caller asks for it. */
export async function openDownload(
  transport: Transport,
  request: Request,
  { start, end }: Range,
  name: string,
): Promise<FileStream> {
  const isWhole = start === 0 && end === undefined;
  // A range in HTTP has at least one byte.
  const last = end === undefined ? undefined : Math.max(end, start + 1) - 1;
  const headers = isWhole ? {} : { range: `bytes=${start}-${last ?? ""}` };
  let opened: OpenResponse;
  try {
    opened = await transport.open({ ...request, headers });
  } catch (error) {
    const isPastEnd = error instanceof CodecellError && error.details.code === "range_not_satisfiable";
    const [, size] = (isPastEnd && /has (\d{1,15}) bytes/.exec(error.message)) || [];
    if (size === undefined) throw error;
    return { size: Number(size), modifiedMs: 0, data: nothing(), async [Symbol.asyncDispose]() {} };
  }
  const { size, length, etag, modifiedMs } = facts(opened.response);
  const wanted = end !== undefined && end <= start ? 0 : length;
  const leaving = new AbortController();
  if (wanted === 0) close(opened);
  const part = { request, start, length: wanted, etag, name };
  return {
    ...{ size, modifiedMs },
    data: wanted === 0 ? nothing() : pieces(transport, opened, part, leaving.signal),
    async [Symbol.asyncDispose]() {
      leaving.abort();
      close(opened);
    },
  };
}

interface Part {
  readonly request: Request;
  readonly start: number;
  readonly length: number;
  readonly etag: string | null;
  readonly name: string;
}

/** The bytes of a part, over as many connections as it takes. */
async function* pieces(
  transport: Transport,
  first: OpenResponse,
  { request, start, length, etag, name }: Part,
  leaving: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let opened = first;
  let received = 0;
  for (let attempt = 0; ; ) {
    const reader = opened.response.body?.getReader();
    try {
      while (reader && received < length) {
        const { done, value } = await reader.read();
        if (done) break;
        received += value.byteLength;
        if (received > length) throw new CodecellError("too_large", "the service sent more than it announced");
        attempt = 0;
        yield value;
      }
      if (received === length) return;
    } catch (error) {
      if (error instanceof CodecellError) throw error;
    } finally {
      reader?.cancel().catch(() => {});
      opened[Symbol.dispose]();
    }
    if (transport.closed.aborted) throw transport.closed.reason;
    if (leaving.aborted) throw new CodecellError("aborted", "the file was closed while it was read");
    if (attempt >= transport.retries || etag === null) throw incomplete(name, received, length);
    await pause(delayBefore(attempt++), transport.closed);
    // Only if the content is the same; otherwise the service sends the whole file, with status 200.
    const headers = { range: `bytes=${start + received}-${start + length - 1}`, "if-range": etag };
    opened = await transport.open({ ...request, headers }).catch((error: unknown) => {
      throw error instanceof CodecellError && isTransient(error) ? incomplete(name, received, length, error) : error;
    });
    if (opened.response.status !== 206) {
      close(opened);
      throw new CodecellError("file_refused", `${shown(name)} changed while it was downloaded`, {
        hint: "read it again",
      });
    }
  }
}

/** What the headers say about a file. */
function facts({ headers, status }: Response) {
  const length = Number(headers.get("content-length") ?? Number.NaN);
  const [, total] = /\/(\d{1,15})$/.exec(headers.get("content-range") ?? "") ?? [];
  const size = status === 206 ? Number(total ?? Number.NaN) : length;
  if (!Number.isSafeInteger(length) || !Number.isSafeInteger(size))
    throw new CodecellError("service_unavailable", "the service did not say how large the file is");
  const modifiedMs = Date.parse(headers.get("last-modified") ?? "");
  return { size, length, etag: headers.get("etag"), modifiedMs: Number.isNaN(modifiedMs) ? 0 : modifiedMs };
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

function close(opened: OpenResponse): void {
  if (opened.response.body?.locked === false) opened.response.body.cancel().catch(() => {});
  opened[Symbol.dispose]();
}

function incomplete(name: string, received: number, length: number, cause?: unknown): CodecellError {
  return new CodecellError("service_unavailable", `${shown(name)} ended after ${received} of ${length} bytes`, {
    hint: "the connection was lost, or the file changed while it was sent: read it again",
    cause,
  });
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, 200));
}
