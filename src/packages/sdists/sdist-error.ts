import type { CodecellError } from "../../lib/errors.ts";
import { quotedName } from "../../lib/quoted-name.ts";
import { packageError } from "../package-error.ts";

/** The error for a source distribution that is not built, because of what is in it. */
export function refusedSdist(label: string, why: string, cause?: unknown): CodecellError {
  return packageError("archive", `the source distribution ${quotedName(label)} is refused: ${why}`, {
    ...{ hint: "use another version, and tell the package's maintainers", cause },
  });
}

const mostLines = 15;
const longestLine = 200;

/** The error for a build that failed, with the end of what it printed. */
export function buildError(
  label: string,
  why: string,
  { output = "", hint = "use a version that has a wheel, or build a wheel of it elsewhere" } = {},
): CodecellError {
  const lines = output.split(/\r?\n/).filter((line) => line.trim() !== "");
  const tail = lines.slice(-mostLines).map((line) => `\n  | ${harmless(line)}`);
  return packageError("build", `${quotedName(label)} could not be built: ${why}${tail.join("")}`, { hint });
}

/** The attack: a build that prints escape sequences, or lines that read like ours. */
function harmless(line: string): string {
  const cut = line.length > longestLine ? `${line.slice(0, longestLine).replace(/[\ud800-\udbff]$/, "")}…` : line;
  return cut.replaceAll("\t", " ").replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, "\ufffd");
}
