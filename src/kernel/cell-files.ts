import { CodecellError } from "../lib/errors.ts";
import { type CellFile, type CellFileList, cellFileList, type HostMessage } from "./messages.ts";

type FileMessage = Extract<HostMessage, { t: `file.${string}` }>;
/** A request about files but for its number. */
export type FileRequest = FileMessage extends infer Message
  ? Message extends { id: number }
    ? Omit<Message, "id">
    : never
  : never;

export interface FileAnswer {
  readonly data: Buffer;
  readonly file: CellFile | undefined;
}

/** Sends one request, with a body where there is one, and waits for its answer. */
export type FileExchange = (request: FileRequest, maxBytes: number, body?: Uint8Array) => Promise<FileAnswer>;

const timeoutMs = 10_000;
const maxListBytes = 16 * 1024 * 1024;

/**
 * The files of a cell that keeps them in its own memory, over the channel. A request waits for the run that goes on.
 * Nothing here is checked but sizes and shapes: names are the caller's business, and contents are the program's.
 */
export class CellFiles {
  readonly #exchange: FileExchange;
  #uploads = 0;

  constructor(exchange: FileExchange) {
    this.#exchange = exchange;
  }

  /** At most `end - start` bytes: fewer where the file ends before. */
  async read(path: string, start: number, end: number): Promise<{ data: Buffer; file: CellFile }> {
    const { data, file } = await this.#exchange({ t: "file.read", path, start, end, timeoutMs }, end - start);
    if (file === undefined) throw new CodecellError("cell_lost", "the cell sent a file without describing it");
    return { data, file };
  }

  newUpload(): number {
    return ++this.#uploads;
  }

  /** Adds bytes to an upload. When it fails, nothing is left of the upload. */
  async write(upload: number, data: Uint8Array): Promise<void> {
    await this.#exchange({ t: "file.write", upload, size: data.byteLength, timeoutMs }, 0, data);
  }

  /** Gives an upload its name; directories on the way are made. */
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
    try {
      return cellFileList.parse(JSON.parse(data.toString()));
    } catch (cause) {
      throw new CodecellError("file_refused", "the cell's list of files cannot be read", { cause });
    }
  }
}
