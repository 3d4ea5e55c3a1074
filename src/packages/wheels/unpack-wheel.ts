import { createHash } from "node:crypto";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { quotedName } from "../../lib/quoted-name.ts";
import type { PackageLimits } from "../package-limits.ts";
import { consoleScripts } from "./console-scripts.ts";
import { refused, WheelArchive, type WheelEntry } from "./wheel-archive.ts";
import { type WheelInfo, wheelInfo } from "./wheel-info.ts";
import { mostMetadataBytes } from "./wheel-metadata.ts";
import type { WheelName } from "./wheel-name.ts";
import { mostRecordBytes, type RecordedHash, recordedHashes } from "./wheel-record.ts";

export interface WheelToUnpack {
  /** of the archive */
  readonly path: string;
  readonly label: string;
  readonly name: WheelName;
}

/**
 * Unpacks a wheel into a directory that nobody else uses. Nothing of it is executed. Directories stay writable: `sealTree`
 * closes them. A file that an earlier wheel has written stays as it is.
 */
export async function unpackWheel(
  wheel: WheelToUnpack,
  options: { readonly into: string; readonly limits: PackageLimits; readonly signal?: AbortSignal | undefined },
): Promise<void> {
  using archive = await WheelArchive.open(wheel.path, wheel.label, options.limits);
  const info = await wheelInfo(archive, wheel.name, wheel.label);
  const recordPath = `${info.directory}/RECORD`;
  const record = archive.entries.get(recordPath);
  if (!record) throw refused(wheel.label, "it has no RECORD");
  const text = await archive.readText(record, mostRecordBytes);
  const hashes = recordedHashes(text, archive.entries.values(), recordPath, wheel.label);
  const made = new Set<string>();
  for (const entry of archive.entries.values()) {
    options.signal?.throwIfAborted();
    const place = placeOf(entry.path, info.dataDirectory);
    if (!place) continue;
    const parent = dirname(join(options.into, place.path));
    if (!made.has(parent)) await makeParent(parent, wheel.label);
    made.add(parent);
    const { into } = options;
    await writeEntry(archive, entry, { ...place, into, hash: hashes.get(entry.path), label: wheel.label });
  }
  await writeScripts(archive, info, options.into, wheel.label);
}

async function writeScripts(archive: WheelArchive, info: WheelInfo, into: string, label: string): Promise<void> {
  const entry = archive.entries.get(`${info.directory}/entry_points.txt`);
  if (!entry) return;
  const scripts = consoleScripts(await archive.readText(entry, mostMetadataBytes));
  if (scripts.length > 0) await makeParent(join(into, "bin"), label);
  for (const { name, text } of scripts) {
    const file = await openNew(join(into, "bin", name), 0o555);
    await file?.writeFile(text).finally(() => file.close());
  }
}

interface Place {
  readonly path: string;
  readonly isScript: boolean;
}

/** Where a file goes. `*.data` has files for other places; what is for no place that a cell imports from is left out. */
function placeOf(path: string, dataDirectory: string): Place | undefined {
  if (!path.startsWith(`${dataDirectory}/`)) return { path, isScript: false };
  const [scheme = "", ...rest] = path.slice(dataDirectory.length + 1).split("/");
  if (rest.length === 0) return undefined;
  if (scheme === "purelib" || scheme === "platlib") return { path: rest.join("/"), isScript: false };
  if (scheme === "scripts" && rest.length === 1) return { path: `bin/${rest[0]}`, isScript: true };
  // as pip's `--target` does: share/jupyter, headers and man pages
  return scheme === "data" ? { path: rest.join("/"), isScript: false } : undefined;
}

async function writeEntry(
  archive: WheelArchive,
  entry: WheelEntry,
  to: Place & { readonly into: string; readonly hash: RecordedHash | undefined; readonly label: string },
): Promise<void> {
  const hash = to.hash && createHash(to.hash.algorithm);
  const file = await openNew(join(to.into, to.path), to.isScript ? 0o555 : 0o444);
  try {
    let isFirst = true;
    for await (const piece of archive.read(entry)) {
      hash?.update(piece);
      await file?.writeFile(to.isScript && isFirst ? withShebang(piece) : piece);
      isFirst = false;
    }
  } finally {
    await file?.close();
  }
  if (hash && hash.digest("base64url") !== to.hash?.digest)
    throw refused(to.label, `${quotedName(entry.path)} does not have the hash that RECORD promises`);
}

async function makeParent(path: string, label: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o755 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EEXIST" && code !== "ENOTDIR") throw error;
    throw refused(label, "it needs a directory where another package of the set has a file");
  }
}

/** Undefined: an earlier package of the set has this file. Never follows a link, and never replaces anything. */
async function openNew(path: string, mode: number): Promise<FileHandle | undefined> {
  try {
    const file = await open(path, "wx", mode);
    await file.chmod(mode); // whatever the umask is: cells of root run under another uid
    return file;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return undefined;
    throw error;
  }
}

/** PEP 427: `#!python` stands for the interpreter. */
function withShebang(piece: Buffer): Buffer {
  const match = /^#!pythonw?(?=[\s])/.exec(piece.subarray(0, 16).toString("latin1"));
  if (!match) return piece;
  return Buffer.concat([Buffer.from("#!/usr/bin/env python3"), piece.subarray(match[0].length)]);
}
