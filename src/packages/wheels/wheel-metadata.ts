import { CodecellError } from "../../lib/errors.ts";
import { isPackageName, normalName } from "../requirements/package-name.ts";
import { parseRequirement, type Requirement } from "../requirements/requirement.ts";
import { compareVersions, explainVersion } from "../requirements/version-range.ts";
import { refused } from "./wheel-archive.ts";
import type { WheelName } from "./wheel-name.ts";

/** What a package says about itself. */
export interface WheelMetadata {
  readonly requires: readonly Requirement[];
  readonly requiresPython: string | undefined;
  /** why this version cannot be used: a requirement that cannot be read, or that is not a package of an index */
  readonly problem: string | undefined;
}

/** One METADATA file may have this many bytes; real ones stay below 1 MB. */
export const mostMetadataBytes = 8 * 1024 ** 2;
const mostRequirements = 5_000;

/** Reads the headers of METADATA. The attack: a file whose name promises another package or version than it contains. */
export function parseMetadata(
  text: string,
  wheel: Pick<WheelName, "name" | "version">,
  label: string,
  refuse: (label: string, why: string) => CodecellError = refused,
): WheelMetadata {
  const fields = headersOf(text);
  const [name = "", version = ""] = [fields.get("name")?.[0], fields.get("version")?.[0]];
  if (!isPackageName(name) || normalName(name) !== wheel.name || !explainVersion(version))
    throw refuse(label, "its METADATA names another package");
  if (compareVersions(version, wheel.version) !== 0) throw refuse(label, "its METADATA names another version");
  const requires = fields.get("requires-dist") ?? [];
  if (requires.length > mostRequirements) throw refuse(label, `it has more than ${mostRequirements} requirements`);
  const requiresPython = fields.get("requires-python")?.[0];
  try {
    const parsed = requires.map((requirement) => parseRequirement(requirement, "its METADATA"));
    return { requires: parsed, requiresPython, problem: undefined };
  } catch (error) {
    if (!(error instanceof CodecellError)) throw error;
    return { requires: [], requiresPython, problem: error.message };
  }
}

/** The headers of an e-mail, up to the first empty line; a line that starts with a space continues the one before. */
export function headersOf(text: string): Map<string, string[]> {
  const fields = new Map<string, string[]>();
  let current: string[] | undefined;
  for (const line of text.split(/\r?\n/)) {
    if (line === "") break;
    if (/^[ \t]/.test(line)) {
      const last = current?.pop();
      if (last !== undefined) current?.push(`${last} ${line.trim()}`);
      continue;
    }
    const colon = line.indexOf(":");
    if (colon === -1) continue;
    const key = line.slice(0, colon).toLowerCase();
    current = fields.get(key) ?? [];
    fields.set(key, current);
    current.push(line.slice(colon + 1).trim());
  }
  return fields;
}
