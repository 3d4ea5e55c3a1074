import { compare, explain, type Pep440Version } from "@renovatebot/pep440";

/** `>=1.2, !=1.5.*`, parsed. An empty range contains every version. */
export interface VersionRange {
  readonly text: string;
  readonly clauses: readonly Clause[];
}

interface Clause {
  readonly operator: "===" | "~=" | "==" | "!=" | "<=" | ">=" | "<" | ">";
  /** without `.*` */
  readonly version: string;
  readonly isPrefix: boolean;
}

const longestVersion = 128;
const clausePattern = /^(===|~=|==|!=|<=|>=|<|>)\s*([^\s,;]+)$/;

/** A version of PEP 440; undefined for anything else. */
export function explainVersion(version: string): Pep440Version | undefined {
  // The attack: numbers so long that they compare as infinities, all equal.
  if (version.length > longestVersion || /\d{16}/.test(version)) return undefined;
  return explain(version) ?? undefined;
}

/** Negative: the first version is older. Both must be versions of PEP 440. */
export function compareVersions(version: string, other: string): number {
  return compare(version, other);
}

/** Undefined: not a range of PEP 440. */
export function parseRange(text: string): VersionRange | undefined {
  const clauses: Clause[] = [];
  const parts = text.split(",").map((part) => part.trim());
  if (parts.at(-1) === "" && parts.length > 1) parts.pop(); // packaging accepts a comma at the end
  if (parts.length === 1 && parts[0] === "") return { text: "", clauses };
  if (parts.length > 100) return undefined;
  for (const part of parts) {
    const clause = parseClause(part);
    if (!clause) return undefined;
    clauses.push(clause);
  }
  return { text: parts.join(","), clauses };
}

/** Whether a version is in the range. Pre-releases are judged like any other version: see `mentionsPrerelease`. */
export function rangeContains({ clauses }: VersionRange, version: string): boolean {
  return clauses.every((clause) => clauseContains(clause, version));
}

/** PEP 440: a range accepts pre-releases if it names one. */
export function mentionsPrerelease({ clauses }: VersionRange): boolean {
  return clauses.some(({ operator, version }) => operator !== "!=" && explainVersion(version)?.is_prerelease === true);
}

/** Whether the range leaves one version: `==1.2`, without a wildcard. */
export function isPinned({ clauses }: VersionRange): boolean {
  return clauses.some(({ operator, isPrefix }) => operator === "===" || (operator === "==" && !isPrefix));
}

function parseClause(text: string): Clause | undefined {
  const match = clausePattern.exec(text);
  if (!match) return undefined;
  const operator = match[1] as Clause["operator"];
  const written = match[2] ?? "";
  if (written.length > longestVersion) return undefined;
  if (operator === "===") return { operator, version: written, isPrefix: false };
  const isPrefix = written.endsWith(".*");
  const version = isPrefix ? written.slice(0, -2) : written;
  const explained = explainVersion(version);
  if (!explained) return undefined;
  const isEquality = operator === "==" || operator === "!=";
  if (isPrefix && (!isEquality || explained.local || explained.is_prerelease || explained.is_postrelease))
    return undefined;
  if (explained.local && !isEquality) return undefined;
  if (operator === "~=" && explained.release.length < 2) return undefined;
  return { operator, version, isPrefix };
}

function clauseContains({ operator, version: wanted, isPrefix }: Clause, version: string): boolean {
  if (operator === "===") return version.toLowerCase() === wanted.toLowerCase();
  const have = explainVersion(version);
  const want = explainVersion(wanted);
  if (!have || !want) return false;
  if (isPrefix) return startsWith(have, want) === (operator === "==");
  // a local version counts only where the range names one
  const order = compare(want.local ? version : have.public, wanted);
  switch (operator) {
    case "==":
      return order === 0;
    case "!=":
      return order !== 0;
    case "<=":
      return order <= 0;
    case ">=":
      return order >= 0;
    case "~=":
      return order >= 0 && startsWith(have, { epoch: want.epoch, release: want.release.slice(0, -1) });
    case "<": {
      // `<2.0` does not contain 2.0rc1, unless a pre-release is named
      if (order >= 0) return false;
      const isOfSame = isSameRelease(have, want) && (!want.is_postrelease || (have.is_postrelease && !have.pre));
      return want.is_prerelease || !have.is_prerelease || !isOfSame;
    }
    case ">": {
      // `>1.7` does not contain 1.7.post1 or 1.7+local
      if (order <= 0) return false;
      const isOfSame = isSameRelease(have, want) && String(have.pre) === String(want.pre);
      return want.is_postrelease || want.is_devrelease || !have.is_postrelease || !isOfSame;
    }
  }
}

/** `1` is in `1.0.*`: a missing number is zero. */
function startsWith(have: Pep440Version, prefix: Pick<Pep440Version, "epoch" | "release">): boolean {
  return have.epoch === prefix.epoch && prefix.release.every((number, at) => number === (have.release[at] ?? 0));
}

function isSameRelease(a: Pep440Version, b: Pep440Version): boolean {
  if (a.epoch !== b.epoch) return false;
  const length = Math.max(a.release.length, b.release.length);
  return Array.from({ length }, (_, at) => (a.release[at] ?? 0) === (b.release[at] ?? 0)).every(Boolean);
}
