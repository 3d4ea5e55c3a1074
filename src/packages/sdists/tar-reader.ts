import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { quotedName } from "../../lib/quoted-name.ts";
import { blockBytes, parseTarHeader, paxRecords } from "./tar-header.ts";

/** Bounds on what a hostile archive may cost the host. */
export interface TarBounds {
  readonly entries: number;
  /** unpacked, of the whole archive */
  readonly bytes: number;
  /** of all files that are wanted together, or of a long name */
  readonly fileBytes: number;
}

/** Deflate reaches 1032. Real archives of source code stay below 20. */
const mostRatio = 200;
const ratioFromBytes = 64 * 1024 ** 2;

/** A `.tar.gz` that is not read further; the message says why. */
export class TarError extends Error {
  override readonly name = "TarError";
}

/**
 * Reads some files of a `.tar.gz` into memory, and nothing to the disk. All of it is looked at: the attack is a second entry
 * with the same path, which another program would take instead of the first.
 */
export async function readTarFiles(
  path: string,
  isWanted: (path: string) => boolean,
  bounds: TarBounds,
  signal?: AbortSignal,
): Promise<Map<string, Buffer>> {
  const { size } = await stat(path);
  const parser = new TarParser(isWanted, bounds);
  let unpacked = 0;
  let refusal: unknown; // the pipeline reports that it was aborted, and not by what
  const look = (piece: Buffer) => {
    unpacked += piece.length;
    if (unpacked > bounds.bytes) throw new TarError(`it unpacks to more than ${bounds.bytes} bytes`);
    if (unpacked > ratioFromBytes && unpacked > mostRatio * size) throw new TarError("it is a bomb");
    parser.take(piece);
  };
  const sink = async (pieces: AsyncIterable<Buffer>) => {
    for await (const piece of pieces) {
      try {
        look(piece);
      } catch (error) {
        refusal = error;
        throw error;
      }
    }
  };
  try {
    await pipeline(createReadStream(path), createGunzip(), sink, ...(signal ? [{ signal }] : []));
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    throw refusal ?? (code.startsWith("Z_") ? new TarError("it is not a .tar.gz, or it is damaged") : error);
  }
  return parser.end();
}

/** What the bytes that come next are. */
type Part =
  | { readonly kind: "header" }
  | {
      readonly kind: "content";
      readonly use: "skip" | "file" | "x" | "L";
      readonly path: string;
      readonly bytes: number;
    }
  | { readonly kind: "end" };

class TarParser {
  readonly #isWanted: (path: string) => boolean;
  readonly #bounds: TarBounds;
  readonly #found = new Map<string, Buffer>();
  #part: Part = { kind: "header" };
  #kept: Buffer[] = [];
  /** bytes of the current part that have not come yet, padding included */
  #missing = blockBytes;
  #entries = 0;
  #foundBytes = 0;
  /** what an `x` or `L` entry says about the next one */
  #nextPath: string | undefined;

  constructor(isWanted: (path: string) => boolean, bounds: TarBounds) {
    this.#isWanted = isWanted;
    this.#bounds = bounds;
  }

  take(piece: Buffer): void {
    for (let at = 0; at < piece.length && this.#part.kind !== "end"; ) {
      const slice = piece.subarray(at, at + this.#missing);
      at += slice.length;
      this.#missing -= slice.length;
      if (this.#part.kind === "header" || (this.#part.kind === "content" && this.#part.use !== "skip"))
        this.#kept.push(slice);
      if (this.#missing === 0) this.#finish();
    }
  }

  end(): Map<string, Buffer> {
    const isWhole = this.#part.kind === "end" || (this.#part.kind === "header" && this.#missing === blockBytes);
    if (!isWhole || this.#entries === 0) throw new TarError("it ends too early");
    return this.#found;
  }

  #finish(): void {
    const content = Buffer.concat(this.#kept);
    const part = this.#part;
    this.#kept = [];
    this.#part = { kind: "header" };
    this.#missing = blockBytes;
    if (part.kind === "header") this.#header(content);
    else if (part.kind === "content") this.#content(part, content.subarray(0, part.bytes));
  }

  #header(block: Buffer): void {
    const header = readable(() => parseTarHeader(block));
    if (!header) {
      this.#part = { kind: "end" };
      return;
    }
    if (++this.#entries > this.#bounds.entries) throw new TarError(`it has more than ${this.#bounds.entries} files`);
    const { type, bytes } = header;
    const isAboutNext = type === "x" || type === "L";
    const path = isAboutNext ? "" : (this.#nextPath ?? header.path);
    if (!isAboutNext) this.#nextPath = undefined;
    const isWanted = type === "0" && this.#isWanted(path);
    const use = type === "x" || type === "L" ? type : isWanted ? "file" : "skip";
    if (use === "file") this.#foundBytes += bytes;
    // The attack: wanted files in many directories, which are all kept in memory.
    if (use !== "skip" && Math.max(bytes, this.#foundBytes) > this.#bounds.fileBytes)
      throw new TarError(`${quotedName(path)} is too large: at most ${this.#bounds.fileBytes} bytes are read`);
    // A link with that name would be read by the build instead of the file that was looked at.
    if (type !== "0" && !isAboutNext && this.#isWanted(path)) throw new TarError(`${quotedName(path)} is not a file`);
    const padded = Math.ceil(bytes / blockBytes) * blockBytes;
    this.#part = { kind: "content", use, path, bytes };
    this.#missing = padded;
    if (padded === 0) this.#finish();
  }

  #content({ use, path }: Part & { kind: "content" }, content: Buffer): void {
    if (use === "L") this.#nextPath = content.toString("utf8").replace(/\0+$/, "");
    if (use === "x") {
      const records = readable(() => paxRecords(content));
      // The attack: a size that only some programs look at, so that they see other entries than we do.
      if (records.has("size")) throw new TarError("an extended header changes a size");
      this.#nextPath = records.get("path") ?? this.#nextPath;
    }
    if (use !== "file") return;
    if (this.#found.has(path)) throw new TarError(`it has ${quotedName(path)} twice`);
    this.#found.set(path, content);
  }
}

function readable<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw new TarError((error as Error).message);
  }
}
