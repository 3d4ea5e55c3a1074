import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** A part of a file, for a program that writes it. */
export interface FilePart {
  readonly path: string;
  /** base64 */
  readonly data: string;
  /** whether it continues the file that the last part began */
  readonly more: boolean;
  readonly executable: boolean;
}

interface TreeFile {
  readonly path: string;
  readonly size: number;
  readonly executable: boolean;
}

const pieceBytes = 4 * 1024 ** 2;
const pieceFiles = 2_000;

/** The files of a directory that nobody changes, for a program that copies them piece by piece, once and in order. */
export class PackagePieces {
  readonly bytes: number;
  readonly #directory: string;
  readonly #files: readonly TreeFile[];
  #file = 0;
  #offset = 0;

  private constructor(directory: string, files: readonly TreeFile[]) {
    this.#directory = directory;
    this.#files = files;
    this.bytes = files.reduce((sum, { size }) => sum + size, 0);
  }

  static async open(directory: string): Promise<PackagePieces> {
    const files = await filesBelow(directory, "");
    // Last: a package whose copy was interrupted does not count as installed.
    const isRecord = ({ path }: TreeFile) => /^[^/]+\.dist-info\//.test(path);
    return new PackagePieces(directory, [...files.filter((file) => !isRecord(file)), ...files.filter(isRecord)]);
  }

  /** The next parts; empty: that was all. */
  async next(): Promise<FilePart[]> {
    const parts: FilePart[] = [];
    for (let left = pieceBytes; left > 0 && parts.length < pieceFiles; ) {
      const file = this.#files[this.#file];
      if (file === undefined) break;
      const { path, size, executable } = file;
      const data = await read(join(this.#directory, path), this.#offset, Math.min(left, size - this.#offset));
      parts.push({ path, executable, more: this.#offset > 0, data: data.toString("base64") });
      left -= data.byteLength;
      this.#offset += data.byteLength;
      if (this.#offset < size) continue;
      this.#file++;
      this.#offset = 0;
    }
    return parts;
  }
}

async function filesBelow(directory: string, prefix: string): Promise<TreeFile[]> {
  const found: TreeFile[] = [];
  for (const entry of await readdir(join(directory, prefix), { withFileTypes: true })) {
    const path = `${prefix}${entry.name}`;
    if (entry.isDirectory()) found.push(...(await filesBelow(directory, `${path}/`)));
    if (!entry.isFile()) continue;
    const { size, mode } = await stat(join(directory, path));
    found.push({ path, size, executable: (mode & 0o100) !== 0 });
  }
  return found;
}

async function read(path: string, at: number, length: number): Promise<Buffer> {
  const file = await open(path);
  try {
    const data = Buffer.alloc(length);
    const { bytesRead } = await file.read(data, 0, length, at);
    if (bytesRead < length) throw new Error("a file of a package is shorter than it was");
    return data;
  } finally {
    await file.close();
  }
}
