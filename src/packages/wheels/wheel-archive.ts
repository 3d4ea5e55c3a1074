import { type Entry, openPromise, type ZipFile } from "yauzl";
import { CodecellError, messageOf } from "../../lib/errors.ts";
import { quotedName } from "../../lib/quoted-name.ts";
import { packageError } from "../package-error.ts";
import type { PackageLimits } from "../package-limits.ts";

/** One file of a wheel, with a path that stays inside. */
export interface WheelEntry {
  readonly path: string;
  readonly bytes: number;
  readonly isExecutable: boolean;
  readonly entry: Entry;
}

const fileType = 0o170000;
const regular = 0o100000;
const longestPath = 1024;
const longestPart = 255;
/** Of all paths, with each directory once. The longest real lists have 10 million. */
const mostNameCharacters = 64 * 1024 ** 2;
/** Deflate reaches 1032. Real wheels stay below 30. */
const mostRatio = 200;
const ratioFromBytes = 64 * 1024 ** 2;

/** A wheel, opened and checked: every path, type and size, before a byte is written. */
export class WheelArchive implements Disposable {
  readonly #zip: ZipFile;
  readonly #label: string;
  readonly entries: ReadonlyMap<string, WheelEntry>;

  private constructor(zip: ZipFile, label: string, entries: ReadonlyMap<string, WheelEntry>) {
    this.#zip = zip;
    this.#label = label;
    this.entries = entries;
  }

  static async open(path: string, label: string, limits: PackageLimits): Promise<WheelArchive> {
    let zip: ZipFile | undefined;
    try {
      zip = await openPromise(path, { autoClose: false, strictFileNames: true, validateEntrySizes: true });
      return new WheelArchive(zip, label, await checkedEntries(zip, label, limits));
    } catch (error) {
      zip?.close();
      throw unusable(error, label);
    }
  }

  /** The pieces of a file, no more than it claims to have. */
  async *read({ entry }: WheelEntry): AsyncGenerator<Buffer> {
    try {
      for await (const piece of await this.#zip.openReadStreamPromise(entry)) yield piece as Buffer;
    } catch (error) {
      throw unusable(error, this.#label);
    }
  }

  async readText(entry: WheelEntry, maxBytes: number): Promise<string> {
    if (entry.bytes > maxBytes) throw refused(this.#label, `${quotedName(entry.path)} has more than ${maxBytes} bytes`);
    const pieces: Buffer[] = [];
    for await (const piece of this.read(entry)) pieces.push(piece);
    return Buffer.concat(pieces).toString("utf8");
  }

  [Symbol.dispose](): void {
    this.#zip.close();
  }
}

async function checkedEntries(zip: ZipFile, label: string, limits: PackageLimits): Promise<Map<string, WheelEntry>> {
  const entries = new Map<string, WheelEntry>();
  const spellings = new Spellings(label);
  let [bytes, packed] = [0, 0];
  if (zip.entryCount > limits.files) throw refused(label, `it has more than ${limits.files} files`);
  for await (const entry of zip.eachEntry()) {
    const path = safePath(entry.fileName, label);
    bytes += entry.uncompressedSize;
    packed += entry.compressedSize;
    if (bytes > limits.unpackedBytes) throw refused(label, `it unpacks to more than ${limits.unpackedBytes} bytes`);
    // The attack: entries that overlap, so that a few bytes are unpacked again and again.
    if (packed > zip.fileSize) throw refused(label, "its files overlap");
    if (bytes > ratioFromBytes && bytes > mostRatio * zip.fileSize) throw refused(label, "it is a zip bomb");
    if (entry.isEncrypted()) throw refused(label, `${quotedName(path)} is encrypted`);
    checkType(entry, path, label);
    spellings.add(path);
    if (entry.fileName.endsWith("/")) continue;
    if (entries.has(path)) throw refused(label, `it has ${quotedName(path)} twice`);
    const isExecutable = ((entry.externalFileAttributes >>> 16) & 0o111) !== 0;
    entries.set(path, { path, bytes: entry.uncompressedSize, isExecutable, entry });
    if (entries.size > limits.files) throw refused(label, `it has more than ${limits.files} files`);
  }
  checkNesting(entries, label);
  return entries;
}

/** The attacks: `../`, absolute paths and other names that leave the directory, or that some programs read differently. */
function safePath(name: string, label: string): string {
  const path = name.replace(/\/$/, "");
  const parts = path.split("/");
  const isSafe =
    path.length <= longestPath &&
    !/[\\\p{Cc}]/u.test(path) &&
    !/^[A-Za-z]:/.test(path) &&
    parts.length <= 64 &&
    parts.every((part) => part !== "" && part !== "." && part !== ".." && Buffer.byteLength(part) <= longestPart);
  if (!isSafe) throw refused(label, `it has a file with the path ${quotedName(name)}`);
  return path;
}

/** The attack: a link to a file of the host, which a later entry writes through or the cell reads. */
function checkType(entry: Entry, path: string, label: string): void {
  const type = (entry.externalFileAttributes >>> 16) & fileType;
  const isDirectory = entry.fileName.endsWith("/");
  const isPlain = type === 0 || type === regular || (isDirectory && type === 0o040000);
  if (!isPlain) throw refused(label, `${quotedName(path)} is a link or a special file`);
}

/** The attack: `A.py` and `a.py`, which are one file on some disks, so that one replaces the other after it was checked. */
class Spellings {
  readonly #label: string;
  readonly #known = new Map<string, string>();
  #characters = 0;

  constructor(label: string) {
    this.#label = label;
  }

  /** Checks a path and its directories, up to the first that is known: what is above it is known too. */
  add(path: string): void {
    this.#count(path); // also what is known: an archive may name one directory again and again
    for (let part = path; part !== ""; part = part.slice(0, Math.max(0, part.lastIndexOf("/")))) {
      const folded = part.normalize("NFC").toLowerCase();
      const other = this.#known.get(folded);
      if (other === part) return;
      if (other !== undefined)
        throw refused(this.#label, `${quotedName(other)} and ${quotedName(part)} differ only in case`);
      this.#known.set(folded, part);
      this.#count(part);
    }
  }

  /** The attack: 100,000 deep paths with no directory in common, 6 GB of names from an archive of 100 MB. */
  #count({ length }: string): void {
    this.#characters += length;
    if (this.#characters > mostNameCharacters)
      throw refused(this.#label, `the names of its files have more than ${mostNameCharacters} characters`);
  }
}

/** A file cannot be the directory of another one. */
function checkNesting(entries: ReadonlyMap<string, WheelEntry>, label: string): void {
  for (const path of entries.keys()) {
    for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1))
      if (entries.has(path.slice(0, at))) throw refused(label, `${quotedName(path)} is below a file`);
  }
}

/** The error for an archive that is not unpacked. */
export function refused(label: string, why: string): CodecellError {
  return packageError("archive", `the wheel ${quotedName(label)} is refused: ${why}`, {
    hint: "use another version, and tell the package's maintainers",
  });
}

function unusable(error: unknown, label: string): Error {
  if (error instanceof CodecellError) return error;
  const isDisk = (error as NodeJS.ErrnoException).syscall !== undefined;
  return isDisk ? (error as Error) : refused(label, `it cannot be read: ${quotedName(messageOf(error), 200)}`);
}
