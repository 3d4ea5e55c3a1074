import { normalName } from "../requirements/package-name.ts";
import { compareVersions, explainVersion } from "../requirements/version-range.ts";
import { refused, type WheelArchive } from "./wheel-archive.ts";
import { mostMetadataBytes } from "./wheel-metadata.ts";
import type { WheelName } from "./wheel-name.ts";

/** Where a wheel keeps what it says about itself. */
export interface WheelInfo {
  readonly directory: string;
  readonly dataDirectory: string;
}

/** Finds the one `*.dist-info` directory, which must be that of the package in the file's name. */
export async function wheelInfo(
  archive: WheelArchive,
  wheel: Pick<WheelName, "name" | "version">,
  label: string,
): Promise<WheelInfo> {
  const directories = new Set<string>();
  for (const path of archive.entries.keys()) {
    const [top = ""] = path.split("/", 1);
    if (top.endsWith(".dist-info")) directories.add(top);
  }
  const [directory, ...others] = directories;
  if (directory === undefined || others.length > 0) throw refused(label, "it does not have one .dist-info directory");
  const stem = directory.slice(0, -".dist-info".length);
  const dash = stem.lastIndexOf("-");
  const version = stem.slice(dash + 1);
  const isOwn =
    normalName(stem.slice(0, dash)) === wheel.name &&
    explainVersion(version) !== undefined &&
    compareVersions(version, wheel.version) === 0;
  if (!isOwn) throw refused(label, "its .dist-info directory is that of another package");
  await checkFormat(archive, directory, label);
  return { directory, dataDirectory: `${stem}.data` };
}

/** The text of METADATA. */
export async function metadataText(archive: WheelArchive, { directory }: WheelInfo, label: string): Promise<string> {
  const entry = archive.entries.get(`${directory}/METADATA`);
  if (!entry) throw refused(label, "it has no METADATA");
  return archive.readText(entry, mostMetadataBytes);
}

async function checkFormat(archive: WheelArchive, directory: string, label: string): Promise<void> {
  const entry = archive.entries.get(`${directory}/WHEEL`);
  if (!entry) throw refused(label, "it has no WHEEL file");
  const version = /^Wheel-Version:[ \t]*(\d+)\./im.exec(await archive.readText(entry, 65_536))?.[1];
  if (version !== "1") throw refused(label, "its format is not version 1 of PEP 427");
}
