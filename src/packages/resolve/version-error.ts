import type { CodecellError } from "../../lib/errors.ts";
import { quotedName } from "../../lib/quoted-name.ts";
import { packageError } from "../package-error.ts";
import { compareVersions, explainVersion } from "../requirements/version-range.ts";
import type { Constraint } from "./resolve-packages.ts";

/** Why one version was not taken. */
export interface Reason {
  readonly version: string;
  readonly why: string;
}

const mostReasons = 6;
const mostVersions = 4;
const mostRequirers = 6;

/** One error that says who asks for what, and why each version was not taken; bounded, whatever the index lists. */
export function versionError(name: string, asked: readonly Constraint[], reasons: readonly Reason[]): CodecellError {
  const requirers = asked
    .slice(0, mostRequirers)
    .map(({ by, requirement: { range } }) => `${by} needs ${name}${range.text}`);
  const groups = new Map<string, string[]>();
  for (const { version, why } of [...reasons].sort(newestFirst)) {
    const versions = groups.get(why) ?? [];
    versions.push(version);
    groups.set(why, versions);
  }
  const lines = [...groups].slice(0, mostReasons).map(([why, versions]) => `\n  ${listed(versions)}: ${why}`);
  const more = groups.size > mostReasons ? `\n  and ${groups.size - mostReasons} more reasons` : "";
  const empty = groups.size === 0 ? "\n  the index has no files of it" : "";
  const subject = `no version of ${quotedName(name)} can be used: ${requirers.join(", ")}`;
  return packageError("no_version", `${subject}${lines.join("")}${more}${empty}`, { hint: hintFor(reasons, asked) });
}

function listed(versions: readonly string[]): string {
  const some = versions.slice(0, mostVersions).join(", ");
  return versions.length > mostVersions ? `${some} and ${versions.length - mostVersions} more` : some;
}

function newestFirst(a: Reason, b: Reason): number {
  return explainVersion(a.version) && explainVersion(b.version) ? compareVersions(b.version, a.version) : 0;
}

function hintFor(reasons: readonly Reason[], asked: readonly Constraint[]): string {
  const isAbout = (text: string) => reasons.some(({ why }) => why.includes(text));
  if (new Set(asked.map(({ by }) => by)).size > 1) return "relax one of these requirements";
  if (isAbout("minAge")) return "ask for an older version, or lower kernel.packages.minAge";
  if (isAbout("source distribution"))
    return "ask for a version that has a wheel, or have the policy name it in kernel.packages.sdists";
  if (isAbout("on pyodide")) return "it has native code for other systems; use the process or container runner";
  if (isAbout("no wheel for")) return "ask for another version, or run it with a Python that it supports";
  return "ask for another version";
}
