import { quotedName } from "../../lib/quoted-name.ts";
import type { PackageLimits } from "../package-limits.ts";
import type { PackageTarget } from "../package-target.ts";
import { compareVersions } from "../requirements/version-range.ts";
import type { SdistCandidate } from "../resolve/candidate.ts";
import { WheelArchive } from "../wheels/wheel-archive.ts";
import { metadataText, wheelInfo } from "../wheels/wheel-info.ts";
import { parseMetadata } from "../wheels/wheel-metadata.ts";
import { parseWheelName } from "../wheels/wheel-name.ts";
import { supportedTags, tagRank } from "../wheels/wheel-tags.ts";
import { buildError } from "./sdist-error.ts";

/**
 * Refuses a wheel that is not the one that was asked for. The attack: the build of one package leaves a wheel of another,
 * which the set would then have instead of the real one.
 */
export async function checkBuiltWheel(
  { path, fileName }: { readonly path: string; readonly fileName: string },
  { candidate, target, limits }: { candidate: SdistCandidate; target: PackageTarget; limits: PackageLimits },
): Promise<void> {
  const refuse = (why: string) => buildError(candidate.file.name, `its build left ${quotedName(fileName)}, ${why}`);
  const wheel = parseWheelName(fileName);
  if (!wheel) throw refuse("which is not the name of a wheel");
  if (wheel.name !== candidate.name || compareVersions(wheel.version, candidate.version) !== 0)
    throw refuse(`which is not ${candidate.name} ${candidate.version}`);
  // A build that claims to run on every Linux was not made here: only pure wheels, or this platform's.
  const own = wheel.tags.filter((tag) => platformsOf(target).some((platform) => tag.endsWith(`-${platform}`)));
  if (own.length !== wheel.tags.length || tagRank(own, supportedTags(target)) === undefined)
    throw refuse(`which is not for Python ${target.python} on ${target.platform}`);
  using archive = await WheelArchive.open(path, fileName, limits);
  const info = await wheelInfo(archive, wheel, fileName);
  parseMetadata(await metadataText(archive, info, fileName), wheel, fileName);
}

function platformsOf({ platform }: PackageTarget): string[] {
  return ["any", platform, platform.replace(/^pyodide_/, "pyemscripten_")];
}
