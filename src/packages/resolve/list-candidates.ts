import { quotedName } from "../../lib/quoted-name.ts";
import type { IndexFile } from "../index/index-file.ts";
import type { PackagePage } from "../index/package-page.ts";
import type { PackageTarget } from "../package-target.ts";
import { normalName } from "../requirements/package-name.ts";
import { compareVersions, explainVersion, parseRange, rangeContains } from "../requirements/version-range.ts";
import type { ResolveRules } from "../resolve-rules.ts";
import { parseWheelName, type WheelName } from "../wheels/wheel-name.ts";
import { type SupportedTags, tagRank } from "../wheels/wheel-tags.ts";
import { nameRule } from "./allowed-names.ts";
import type { Candidate, CandidateList } from "./candidate.ts";

/** What decides whether a file is taken. */
export interface CandidateRules {
  readonly target: PackageTarget;
  readonly tags: SupportedTags;
  readonly rules: ResolveRules;
  readonly nowMs: number;
  /** the hashes that the requests allow for this package; undefined: the index's hash decides */
  readonly hashes: ReadonlySet<string> | undefined;
}

interface Verdict {
  readonly why: string;
  /** how far the file came: the reason of the file that came farthest is shown */
  readonly stage: number;
}

/** Pure: a page and the rules in, the wheels that may be used out, with the reasons for all others. */
export function listCandidates(name: string, page: PackagePage, rules: CandidateRules): CandidateList {
  const best = new Map<string, { candidate: Candidate; rank: number }>();
  const left = new Map<string, Verdict>();
  const leave = (version: string, verdict: Verdict) => {
    if (verdict.stage >= (left.get(version)?.stage ?? 0)) left.set(version, verdict);
  };
  for (const file of page.files) {
    const wheel = parseWheelName(file.name);
    if (!wheel) {
      const version = sdistVersion(file.name, name);
      const why = version === undefined ? undefined : (sourceVerdict(name, file, rules) ?? judge(file, rules));
      if (version !== undefined && why) leave(version, why);
      else if (version !== undefined) keepBest(best, sdistOf(file, { name, version }, page, rules), sourceRank);
      continue;
    }
    if (wheel.name !== name) continue;
    const rank = tagRank(wheel.tags, rules.tags);
    const verdict = rank === undefined ? wrongTags(rules.target) : judge(file, rules);
    if (verdict) leave(wheel.version, verdict);
    else if (rank !== undefined) keepBest(best, candidateOf(file, wheel, page, rules), rank);
  }
  const newestFirst = (a: { version: string }, b: { version: string }) => compareVersions(b.version, a.version);
  const candidates = [...best.values()].map(({ candidate }) => candidate).sort(newestFirst);
  return {
    candidates: [...candidates.filter((one) => !one.isPrerelease), ...candidates.filter((one) => one.isPrerelease)],
    left: [...left]
      .filter(([version]) => !best.has(version))
      .map(([version, { why }]) => ({ version, why }))
      .sort(newestFirst),
  };
}

const onlySource =
  "there is only a source distribution, which would have to run code to be built, and kernel.packages.sdists does not name it";

/** A wheel that fits is always better. */
const sourceRank = Number.POSITIVE_INFINITY;

/** Why a source distribution may not be built; undefined: it may. */
function sourceVerdict(name: string, file: IndexFile, { rules }: CandidateRules): Verdict | undefined {
  if (nameRule(name, { allow: rules.sdists, deny: [] }) !== "allowed") return { why: onlySource, stage: 0 };
  if (!file.name.endsWith(".tar.gz"))
    return { why: "its source distribution is not a .tar.gz, the only format that is built", stage: 0 };
  if (rules.hashes)
    return { why: "building it needs packages without hashes, and kernel.packages.hashes requires them", stage: 1 };
  return undefined;
}

function wrongTags({ python, platform }: PackageTarget): Verdict {
  return { why: `no wheel for Python ${python} on ${platform}`, stage: 1 };
}

function judge(file: IndexFile, { target, rules, nowMs, hashes }: CandidateRules): Verdict | undefined {
  if (file.requiresPython !== undefined && !acceptsPython(file.requiresPython, target))
    return { why: wrongPython(file.requiresPython), stage: 2 };
  if (file.sha256 === undefined && hashes === undefined)
    return { why: "the index gives no sha256, and the requirement carries none", stage: 3 };
  if (hashes && file.sha256 !== undefined && !hashes.has(file.sha256))
    return { why: "its hash is not among those of the requirement", stage: 4 };
  if (rules.minAgeMs <= 0) return undefined;
  if (file.uploadedMs === undefined)
    return { why: "the index does not say when it was uploaded, and kernel.packages.minAge is set", stage: 5 };
  // a date in the future is no age at all
  if (nowMs - file.uploadedMs < rules.minAgeMs)
    return { why: `it was uploaded on ${dayOf(file.uploadedMs)}: younger than kernel.packages.minAge`, stage: 6 };
  return undefined;
}

/** Whether this Python is in a `Requires-Python`. One that cannot be read says nothing. */
export function acceptsPython(range: string, { python, fullPython }: PackageTarget): boolean {
  const parsed = parseRange(range);
  return !parsed || rangeContains(parsed, fullPython ?? `${python}.0`);
}

/** The range is a text of the index or of the package: quoted, so that it cannot read like a sentence of ours. */
export function wrongPython(range: string): string {
  return `it needs Python ${quotedName(range, 60)}`;
}

function candidateOf(file: IndexFile, wheel: WheelName, page: PackagePage, { hashes }: CandidateRules): Candidate {
  const { name, version } = wheel;
  return { kind: "wheel", wheel, ...commonOf({ name, version, file, page }, hashes) };
}

function sdistOf(
  file: IndexFile,
  { name, version }: { readonly name: string; readonly version: string },
  page: PackagePage,
  { hashes }: CandidateRules,
): Candidate {
  return { kind: "sdist", ...commonOf({ name, version, file, page }, hashes) };
}

function commonOf<Facts extends { readonly version: string; readonly file: IndexFile }>(
  facts: Facts,
  hashes: ReadonlySet<string> | undefined,
) {
  const { file, version } = facts;
  return {
    ...facts,
    sha256: file.sha256 === undefined ? [...(hashes ?? [])] : [file.sha256],
    isPrerelease: explainVersion(version)?.is_prerelease === true,
  };
}

/** The most specific tag, then the latest build. */
function keepBest(best: Map<string, { candidate: Candidate; rank: number }>, candidate: Candidate, rank: number): void {
  const other = best.get(candidate.version);
  const isBetter =
    !other || rank < other.rank || (rank === other.rank && buildOf(candidate) > buildOf(other.candidate));
  if (isBetter) best.set(candidate.version, { candidate, rank });
}

function buildOf(candidate: Candidate): number {
  return candidate.kind === "wheel" ? candidate.wheel.build : 0;
}

function sdistVersion(file: string, name: string): string | undefined {
  const stem = /^(.{1,300})\.(?:tar\.gz|zip|tar\.bz2|tgz)$/.exec(file)?.[1];
  if (stem === undefined) return undefined;
  for (let dash = stem.lastIndexOf("-"); dash > 0; dash = stem.lastIndexOf("-", dash - 1)) {
    const version = stem.slice(dash + 1);
    if (normalName(stem.slice(0, dash)) === name && explainVersion(version)) return version;
  }
  return undefined;
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
