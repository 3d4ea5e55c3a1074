import type {
  ByteRange,
  FileFacts,
  FileList,
  FileSource,
  FileStream,
  ListOptions,
} from "../../artifacts/workspace-file.ts";
import { CodecellError } from "../../lib/errors.ts";
import type { CodeSessionFiles } from "../../sessions/code-session.ts";
import { joined } from "../http/bounded-body.ts";
import { fileSegments } from "../http/paths.ts";
import type { Transport } from "../http/transport.ts";
import { decodeFileList } from "../wire/decode-files.ts";
import { Fields } from "../wire/fields.ts";
import { openDownload } from "./download.ts";

const defaultReadBytes = 64 * 2 ** 20;
const pageSize = 1_000;

/** The files of a session's workspace, over HTTP. Nothing has to be closed. */
export class RemoteFiles implements CodeSessionFiles, AsyncDisposable {
  readonly #transport: Transport;
  readonly #path: string;

  /** @internal */
  constructor(transport: Transport, sessionPath: string) {
    this.#transport = transport;
    this.#path = `${sessionPath}/files`;
  }

  async stat(path: string): Promise<FileFacts> {
    fileSegments(path);
    const { files } = await this.list({ prefix: path, limit: 1 });
    const [first] = files;
    if (first?.path === path) return first;
    throw new CodecellError("file_missing", `${JSON.stringify(path.slice(0, 200))} is not a file of the workspace`);
  }

  /** Reads a file or a range of it at once; `size` is the whole file's. At most `maxBytes`, by default 64 MiB. */
  async read(
    path: string,
    options: ByteRange & { readonly maxBytes?: number } = {},
  ): Promise<{ readonly data: Uint8Array; readonly size: number }> {
    const { maxBytes = defaultReadBytes, ...range } = options;
    await using file = await this.stream(path, range);
    const chunks: Uint8Array[] = [];
    let length = 0;
    const { start = 0, end = file.size } = range;
    const expected = Math.max(0, Math.min(end, file.size) - start);
    if (expected > maxBytes) throw tooLarge(path, maxBytes);
    for await (const chunk of file.data) {
      length += chunk.byteLength;
      if (length > maxBytes) throw tooLarge(path, maxBytes);
      chunks.push(chunk);
    }
    return { data: joined(chunks, length), size: file.size };
  }

  /** Reads a file in chunks, as fast as its reader. A lost connection continues where it was, if the file is the same. */
  async stream(path: string, range: ByteRange = {}): Promise<FileStream> {
    const { start = 0, end } = range;
    for (const bound of [start, end ?? 0])
      if (!Number.isSafeInteger(bound) || bound < 0)
        throw new CodecellError("usage", "a range has whole numbers of at least 0");
    const request = { method: "GET", path: `${this.#path}/${fileSegments(path)}` } as const;
    return openDownload(this.#transport, request, { start, end }, path);
  }

  /** Creates or replaces a file, and creates missing directories. */
  async write(
    path: string,
    source: FileSource,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<{ size: number }> {
    const request = { method: "PUT", path: `${this.#path}/${fileSegments(path)}`, bytes: source } as const;
    const reply = await this.#transport.json({ ...request, signal: options.signal, isRepeatable: true });
    return { size: new Fields(reply, "the upload").count("size") };
  }

  /** One page of the files, sorted by path; at most 1000. */
  async list({ prefix, after, limit = pageSize }: ListOptions = {}): Promise<FileList> {
    const query = { prefix, after, limit: Math.min(limit, pageSize) };
    return decodeFileList(await this.#transport.json({ method: "GET", path: this.#path, query }));
  }

  /** Removes a file, or a link itself; never a directory. */
  async remove(path: string): Promise<void> {
    const request = { method: "DELETE", path: `${this.#path}/${fileSegments(path)}` } as const;
    await this.#transport.done({ ...request, isRepeatable: true, isDoneIf: "file_missing" });
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

function tooLarge(path: string, maxBytes: number): CodecellError {
  return new CodecellError("too_large", `${JSON.stringify(path.slice(0, 200))} has more than ${maxBytes} bytes`, {
    hint: "read a part of it, read it with stream(), or raise maxBytes",
  });
}
