import { quotedName } from "../../lib/quoted-name.ts";
import { refused, type WheelEntry } from "./wheel-archive.ts";

/** The hash that RECORD promises for a file. */
export interface RecordedHash {
  readonly algorithm: "sha256" | "sha384" | "sha512";
  /** base64url without padding */
  readonly digest: string;
}

/** RECORD may have this many bytes: a line for each of 100,000 files. */
export const mostRecordBytes = 32 * 1024 ** 2;
/** A path has at most 1024 characters, in quotes twice as many. */
const longestLine = 8_192;
const hashPattern = /^(sha256|sha384|sha512)=([A-Za-z0-9_-]+)=*$/;

/** The hash of every file of a wheel. A file that RECORD does not have, or has without a strong hash, is refused. */
export function recordedHashes(
  text: string,
  entries: Iterable<WheelEntry>,
  record: string,
  label: string,
): Map<string, RecordedHash> {
  const rows = parseRows(text);
  const hashes = new Map<string, RecordedHash>();
  for (const { path } of entries) {
    // a signature of RECORD cannot be in it
    if (path === record || path === `${record}.jws` || path === `${record}.p7s`) continue;
    const match = hashPattern.exec(rows.get(path) ?? "");
    if (!match) throw refused(label, `its RECORD has no hash of ${quotedName(path)}`);
    hashes.set(path, { algorithm: match[1] as RecordedHash["algorithm"], digest: match[2] ?? "" });
  }
  return hashes;
}

/** CSV with three columns; a path with a comma is quoted. */
function parseRows(text: string): Map<string, string> {
  const rows = new Map<string, string>();
  for (const line of text.split(/\r?\n/)) {
    if (line.length > longestLine) continue; // The attack: a path of megabytes in quotes overflows the stack of the pattern.
    const quoted = /^"((?:[^"]|"")*)",([^,]*)/.exec(line);
    const [path = "", hash = ""] = quoted ? [quoted[1]?.replaceAll('""', '"'), quoted[2]] : line.split(",");
    if (path !== "") rows.set(path, hash);
  }
  return rows;
}
