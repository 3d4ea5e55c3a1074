import { CodecellError } from "../lib/errors.ts";
import { decodeFileList } from "./cell-json.ts";
import type { CellFile, CellFileList, HostMessage } from "./messages.ts";

type FileMessage = Extract<HostMessage, { t: `file.${string}` }>;
/** A file request without its id. */
export type FileRequest = FileMessage extends infer Message
  ? Message extends { id: number }
    ? Omit<Message, "id">
    : never
  : never;

export interface FileAnswer {
  readonly data: Buffer;
  readonly file: CellFile | undefined;
}

/** Sends one request, with an optional body, and waits for the reply. */
export type FileExchange = (request: FileRequest, maxBytes: number, body?: Uint8Array) => Promise<FileAnswer>;

const timeoutMs = 10_000;
const maxListBytes = 16 * 1024 * 1024;

/**
 * The files of a cell that no directory of the host holds, over the channel. On wasm, a request waits for the current run.
 * Only sizes and shapes are checked here. The caller checks names, and the contents belong to the program.
 */
export class CellFiles {
  readonly #exchange: FileExchange;
  #uploads = 0;

  constructor(exchange: FileExchange) {
    this.#exchange = exchange;
  }

  /** Reads at most `end - start` bytes, fewer if the file is shorter. */
  async read(path: string, start: number, end: number): Promise<{ data: Buffer; file: CellFile }> {
    const { data, file } = await this.#exchange({ t: "file.read", path, start, end, timeoutMs }, end - start);
    if (file === undefined) throw new CodecellError("cell_lost", "the cell sent a file without describing it");
    return { data, file };
  }

  newUpload(): number {
    return ++this.#uploads;
  }

  /** Adds bytes to an upload. If it fails, the whole upload is removed. */
  async write(upload: number, data: Uint8Array): Promise<void> {
    await this.#exchange({ t: "file.write", upload, size: data.byteLength, timeoutMs }, 0, data);
  }

  /** Gives an upload its name, and creates missing parent directories. */
  async place(upload: number, path: string): Promise<void> {
    await this.#exchange({ t: "file.place", upload, path, timeoutMs }, 0);
  }

  async drop(upload: number): Promise<void> {
    await this.#exchange({ t: "file.drop", upload, timeoutMs }, 0);
  }

  async remove(path: string): Promise<void> {
    await this.#exchange({ t: "file.remove", path, timeoutMs }, 0);
  }

  async list(options: { prefix: string; after: string; limit: number }): Promise<CellFileList> {
    const { data } = await this.#exchange({ t: "file.list", ...options, timeoutMs }, maxListBytes);
    return decodeFileList(data);
  }
}
