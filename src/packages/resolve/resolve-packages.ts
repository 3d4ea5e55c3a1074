import { CodecellError } from "../../lib/errors.ts";
import { quotedName } from "../../lib/quoted-name.ts";
import { packageError } from "../package-error.ts";
import type { PackageLimits } from "../package-limits.ts";
import type { PackageTarget } from "../package-target.ts";
import { type MarkerEnvironment, markerHolds } from "../requirements/marker.ts";
import type { Requirement } from "../requirements/requirement.ts";
import { isPinned, mentionsPrerelease, rangeContains } from "../requirements/version-range.ts";
import type { WheelMetadata } from "../wheels/wheel-metadata.ts";
import { nameRule } from "./allowed-names.ts";
import type { Candidate } from "./candidate.ts";
import { acceptsPython, wrongPython } from "./list-candidates.ts";
import type { PackageSource } from "./package-source.ts";
import { type Reason, versionError } from "./version-error.ts";

/** A requirement, and who has it. */
export interface Constraint {
  readonly requirement: Requirement;
  /** for people: `--with`, or `requests 2.31` */
  readonly by: string;
  /** the chosen packages without which it would not exist; none for a request */
  readonly because: readonly string[];
}

interface Decision {
  readonly name: string;
  readonly candidates: readonly Candidate[];
  readonly reasons: Reason[];
  /** choices that, taken differently, could change the outcome */
  readonly blame: Set<string>;
  /** how many constraints there were before */
  readonly mark: number;
  next: number;
}

export interface ResolveOptions {
  readonly source: PackageSource;
  readonly target: PackageTarget;
  readonly environment: MarkerEnvironment;
  readonly rules: { readonly allow: readonly string[]; readonly deny: readonly string[] };
  readonly limits: PackageLimits;
  /** what the cell has, by normalised name: never chosen again, in no other version */
  readonly installed?: ReadonlyMap<string, string> | undefined;
  readonly signal?: AbortSignal | undefined;
}

const consequence = "with it, no version of";

/**
 * Chooses one version of each package that is needed: the newest that everybody accepts. If there is none, it goes back to the
 * latest choice that had a part in it, and takes the next version there.
 */
export async function resolvePackages(roots: readonly Constraint[], options: ResolveOptions): Promise<Candidate[]> {
  return new Resolver(options).run(roots);
}

class Resolver {
  readonly #options: ResolveOptions;
  readonly #constraints: Constraint[] = [];
  readonly #decisions: Decision[] = [];
  readonly #chosen = new Map<string, Candidate>();
  #firstFailure: CodecellError | undefined;
  #lastFailure: CodecellError | undefined;
  #steps = 0;

  constructor(options: ResolveOptions) {
    this.#options = options;
  }

  async run(roots: readonly Constraint[]): Promise<Candidate[]> {
    for (const root of roots) {
      const why = await this.#add(root);
      if (why === undefined) continue;
      throw packageError("no_version", `${root.requirement.name} cannot be installed: ${why}`, {
        hint: "use the version that is there, or name the package in kernel.packages.install",
      });
    }
    for (let name = this.#nextName(); name !== undefined; name = this.#nextName()) {
      const { candidates, left } = await this.#list(name);
      const reasons = left.map(({ version, why }) => ({ version, why }));
      const blame = new Set<string>();
      const decision = { name, candidates, reasons, blame, mark: this.#constraints.length, next: 0 };
      if (!(await this.#choose(decision))) await this.#goBack(decision);
      if (this.#chosen.size > this.#options.limits.packages)
        throw packageError("limit", `more than ${this.#options.limits.packages} packages would be needed`);
    }
    return [...this.#chosen.values()];
  }

  /** Packages that are pinned come first: they leave no choice, so that others are chosen to fit them. */
  #nextName(): string | undefined {
    const open = this.#constraints.filter(({ requirement }) => !this.#chosen.has(requirement.name));
    return (open.find(({ requirement }) => isPinned(requirement.range)) ?? open[0])?.requirement.name;
  }

  async #list(name: string) {
    try {
      return await this.#options.source.candidates(name);
    } catch (error) {
      throw withRequirers(error, this.#on(name));
    }
  }

  #on(name: string): Constraint[] {
    return this.#constraints.filter(({ requirement }) => requirement.name === name);
  }

  /** Takes the next candidate that fits; false: there is none. */
  async #choose(decision: Decision): Promise<boolean> {
    const { name, candidates, reasons, blame, mark } = decision;
    const asked = this.#on(name);
    for (const { because } of asked) for (const other of because) blame.add(other);
    while (decision.next < candidates.length) {
      const candidate = candidates[decision.next++] as Candidate;
      this.#countStep();
      const why = unfit(candidate, asked, candidates) ?? (await this.#take(candidate, asked, blame));
      if (why === undefined) {
        this.#decisions.push(decision);
        return true;
      }
      this.#undo(name, mark);
      reasons.push({ version: candidate.version, why });
    }
    const failure = versionError(name, asked, reasons);
    this.#firstFailure ??= failure;
    // a failure that only follows from an earlier one says nothing new
    if (reasons.some(({ why }) => !why.startsWith(consequence))) this.#lastFailure = failure;
    return false;
  }

  /** Adds what the candidate needs. Returns why it cannot be taken. */
  async #take(candidate: Candidate, asked: readonly Constraint[], blame: Set<string>): Promise<string | undefined> {
    const { target } = this.#options;
    const metadata = await this.#options.source.metadata(candidate);
    if (metadata.problem !== undefined) return metadata.problem;
    if (metadata.requiresPython !== undefined && !acceptsPython(metadata.requiresPython, target))
      return wrongPython(metadata.requiresPython);
    this.#chosen.set(candidate.name, candidate);
    // an extra that does not exist adds nothing, as with pip
    const extras = [...new Set(asked.flatMap(({ requirement }) => requirement.extras))];
    const by = `${candidate.name} ${candidate.version}`;
    for (const requirement of this.#needs(metadata, extras)) {
      const why = await this.#add({ requirement, by, because: [candidate.name] }, blame);
      if (why !== undefined) return why;
    }
    return undefined;
  }

  #needs({ requires }: WheelMetadata, extras: readonly string[]): Requirement[] {
    const { environment } = this.#options;
    return requires.filter(({ marker }) => !marker || markerHolds(marker, environment, extras));
  }

  /** Adds a constraint. Returns the conflict if its package is chosen already, and does not fit. */
  async #add(constraint: Constraint, blame?: Set<string>): Promise<string | undefined> {
    const { name, extras, range } = constraint.requirement;
    const present = this.#options.installed?.get(name);
    if (present !== undefined) return againstInstalled(constraint.requirement, present);
    this.#checkName(constraint);
    const before = this.#on(name);
    this.#constraints.push(constraint);
    const chosen = this.#chosen.get(name);
    if (!chosen) {
      void this.#options.source.candidates(name).catch(() => {}); // ahead of time, while others are looked at
      return undefined;
    }
    if (!rangeContains(range, chosen.version)) {
      blame?.add(name);
      for (const { because } of before) for (const other of because) blame?.add(other);
      return `it needs ${name}${range.text}, but ${wish(before)}`;
    }
    const known = new Set(before.flatMap(({ requirement }) => requirement.extras));
    const added = extras.filter((extra) => !known.has(extra));
    if (added.length === 0) return undefined;
    const metadata = await this.#options.source.metadata(chosen);
    const plain = new Set(this.#needs(metadata, []));
    const by = `${name}[${added.join(",")}] ${chosen.version}`;
    for (const requirement of this.#needs(metadata, added).filter((one) => !plain.has(one))) {
      this.#countStep();
      const why = await this.#add({ requirement, by, because: [name, ...constraint.because] }, blame);
      if (why !== undefined) return why;
    }
    return undefined;
  }

  /** Undoes choices back to one that had a part in the failure and has another version to offer. */
  async #goBack(failed: Decision): Promise<void> {
    let { name, blame } = failed;
    for (let decision = this.#decisions.pop(); decision; decision = this.#decisions.pop()) {
      const version = this.#chosen.get(decision.name)?.version ?? "";
      this.#undo(decision.name, decision.mark);
      if (!blame.has(decision.name)) continue;
      decision.reasons.push({ version, why: `${consequence} ${name} fits` });
      for (const other of blame) if (other !== decision.name) decision.blame.add(other);
      if (await this.#choose(decision)) return;
      ({ name, blame } = decision);
    }
    throw this.#failure();
  }

  /** The first failure names the conflict between the newest versions; the last one says why older ones do not help. */
  #failure(): CodecellError {
    const first = this.#firstFailure ?? packageError("no_version", "no versions fit together");
    const last = this.#lastFailure ?? first;
    if (first === last) return first;
    const { hint = "relax one of these requirements" } = first;
    return packageError("no_version", `${first.message}\n${last.message}`, { hint });
  }

  #undo(name: string, mark: number): void {
    this.#chosen.delete(name);
    this.#constraints.length = mark;
  }

  #checkName({ requirement: { name }, by }: Constraint): void {
    const rule = nameRule(name, this.#options.rules);
    if (rule === "allowed") return;
    const why = rule === "denied" ? "kernel.packages.deny forbids it" : "kernel.packages.allow does not name it";
    throw packageError("denied", `${quotedName(name)} is not installed: ${why} (asked for by ${by})`, {
      hint: "use another package, or have the policy allow this one",
    });
  }

  #countStep(): void {
    const { limits, signal } = this.#options;
    signal?.throwIfAborted();
    if (++this.#steps > limits.steps)
      throw packageError("limit", `no versions that fit together were found in ${limits.steps} steps`, {
        hint: "pin some packages with ==",
        ...(this.#firstFailure ? { cause: this.#firstFailure } : {}),
      });
  }
}

/** Why a requirement does not go with the version that the cell has. Programs may have imported it, so it stays. */
function againstInstalled({ name, extras, range }: Requirement, version: string): string | undefined {
  if (!rangeContains(range, version))
    return `it needs ${name}${range.text}, but ${name} ${version} is installed, and an installed version is never changed`;
  if (extras.length > 0)
    return `it needs ${name}[${extras.join(",")}], but ${name} ${version} is installed, and extras cannot be added to it`;
  return undefined;
}

/** Why a candidate does not fit what is asked of its package. */
function unfit(candidate: Candidate, asked: readonly Constraint[], all: readonly Candidate[]): string | undefined {
  const against = asked.filter(({ requirement }) => !rangeContains(requirement.range, candidate.version));
  if (against.length > 0) return wish(against);
  const ranges = asked.map(({ requirement }) => requirement.range);
  if (candidate.isPrerelease && !ranges.some(mentionsPrerelease) && all.some((other) => !other.isPrerelease))
    return "it is a pre-release, which nobody asks for";
  if (candidate.file.yanked && !ranges.some(isPinned)) return "it was yanked, and is only used if pinned with ==";
  return undefined;
}

/** `a 1.0 needs c<2, b 1.0 needs c>=2` */
function wish(constraints: readonly Constraint[]): string {
  const wishes = constraints
    .slice(0, 3)
    .map(({ by, requirement: { name, range } }) => `${by} needs ${name}${range.text}`);
  return wishes.join(", ") || "another version is chosen";
}

function withRequirers(error: unknown, constraints: readonly Constraint[]): unknown {
  const [first] = constraints;
  if (!(error instanceof CodecellError) || error.code !== "packages_failed" || !first) return error;
  const { hint, details, cause } = error;
  return new CodecellError("packages_failed", `${error.message} (asked for by ${first.by})`, {
    ...{ details, cause },
    ...(hint === undefined ? {} : { hint }),
  });
}
