import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { Semaphore } from "../../lib/waiting/semaphore.ts";
import type { PackageLimits } from "../package-limits.ts";
import type { PackageProgress } from "../package-progress.ts";
import type { PackageTarget } from "../package-target.ts";
import type { PreparedPackages } from "../prepared-packages.ts";
import { parseRequirement } from "../requirements/requirement.ts";
import { candidateKey, type SdistCandidate } from "../resolve/candidate.ts";
import { draftPath, type PackageStore } from "../store/package-store.ts";
import { sdistPath, type WheelStore, wheelPath } from "../store/wheel-store.ts";
import { type BuildRecord, buildName, readBuild, writeBuild } from "./build-records.ts";
import { type BuildSystem, buildSystem } from "./build-system.ts";
import type { BuildOutcome, BuildWheel } from "./build-wheel.ts";
import { checkBuiltWheel } from "./built-wheel.ts";
import { readSdist, type SdistContents } from "./sdist-contents.ts";
import { buildError, refusedSdist } from "./sdist-error.ts";

/** What builds of source distributions need. */
export interface SdistBuildsOptions {
  readonly store: PackageStore;
  readonly downloads: WheelStore;
  readonly target: PackageTarget;
  readonly limits: PackageLimits;
  readonly build: BuildWheel;
  /** resolves build requirements under the rules of all packages */
  readonly prepare: (requirements: readonly string[], from: string) => Promise<PreparedPackages>;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((event: PackageProgress) => void) | undefined;
}

/** A backend may ask for more requirements (PEP 517). */
const mostAsked = 100;

/** Makes wheels of source distributions, each once, and one at a time. */
export class SdistBuilds {
  readonly #options: SdistBuildsOptions;
  readonly #one = new Semaphore(1);
  readonly #contents = new Map<string, Promise<SdistContents>>();
  readonly #wheels = new Map<string, Promise<BuildRecord>>();

  constructor(options: SdistBuildsOptions) {
    this.#options = options;
  }

  /** What the host reads of a source distribution, which is then in the store. */
  contents(candidate: SdistCandidate): Promise<SdistContents> {
    return remembered(this.#contents, candidate, async () => {
      const { store, downloads, limits, signal } = this.#options;
      const path = sdistPath(store, await downloads.get(candidate));
      return readSdist(path, candidate.file.name, { limits, signal });
    });
  }

  /** The wheel of a source distribution, which is then in the store. */
  wheel(candidate: SdistCandidate): Promise<BuildRecord> {
    return remembered(this.#wheels, candidate, () => this.#make(candidate));
  }

  async #make(candidate: SdistCandidate): Promise<BuildRecord> {
    const label = candidate.file.name;
    const { pyproject } = await this.contents(candidate);
    const system = buildSystem(pyproject, label);
    const first = await this.#attempt(candidate, system, system.requires, true);
    if ("sha256" in first) return first;
    const more = await this.#attempt(candidate, system, [...system.requires, ...first.requirements], false);
    if ("sha256" in more) {
      await writeBuild(this.#options.store, first.name, more); // the next time, nobody has to ask the backend
      return more;
    }
    throw buildError(label, "its backend asks for more and more requirements");
  }

  async #attempt(
    candidate: SdistCandidate,
    system: BuildSystem,
    requires: readonly string[],
    mayAsk: boolean,
  ): Promise<BuildRecord | { readonly name: string; readonly requirements: readonly string[] }> {
    const { store, target, downloads } = this.#options;
    const sha256 = await downloads.get(candidate);
    const requirements = await this.#requirements(candidate, requires);
    const name = buildName(sha256, target, requirements?.key);
    const known = await readBuild(store, name);
    if (known) return known;
    return this.#one.run(async () => {
      const draft = draftPath(store.wheels);
      try {
        const outcome = await this.#build(candidate, system, { requirements, mayAsk, sha256, into: draft });
        if (outcome.kind === "needs") return { name, requirements: outcome.requirements };
        const { fileName } = outcome;
        await checkBuiltWheel({ path: draft, fileName }, { ...this.#options, candidate });
        const record = { sha256: await hashOf(draft), fileName };
        await rename(draft, wheelPath(store, record.sha256));
        await writeBuild(store, name, record);
        return record;
      } finally {
        await rm(draft, { force: true });
      }
    }, this.#options.signal);
  }

  async #requirements(candidate: SdistCandidate, requires: readonly string[]): Promise<PreparedPackages | undefined> {
    if (requires.length === 0) return undefined;
    const label = candidate.file.name;
    try {
      for (const requirement of requires) parseRequirement(requirement, `the build of ${label}`);
    } catch (error) {
      throw refusedSdist(label, "one of its build requirements is not a package of an index", error);
    }
    return this.#options.prepare(requires, `the build of ${candidate.name} ${candidate.version}`);
  }

  async #build(
    candidate: SdistCandidate,
    { backend, backendPath }: BuildSystem,
    more: { requirements: PreparedPackages | undefined; mayAsk: boolean; sha256: string; into: string },
  ): Promise<BuildOutcome & { kind: "built" | "needs" }> {
    const { store, build, limits, signal, onProgress } = this.#options;
    const label = candidate.file.name;
    const { sha256, ...rest } = more;
    onProgress?.({ kind: "building", name: candidate.name, version: candidate.version });
    const outcome = await build({
      ...{ sdist: { path: sdistPath(store, sha256), label }, backend, backendPath },
      ...{ ...rest, maxBytes: limits.sdistUnpackedBytes, signal },
    });
    if (outcome.kind === "failed") throw buildError(label, outcome.why, outcome);
    if (outcome.kind === "needs" && outcome.requirements.length > mostAsked)
      throw buildError(label, `its backend asks for more than ${mostAsked} requirements`);
    return outcome;
  }
}

function remembered<Value>(
  known: Map<string, Promise<Value>>,
  candidate: SdistCandidate,
  make: () => Promise<Value>,
): Promise<Value> {
  const key = candidateKey(candidate);
  const found = known.get(key) ?? make();
  known.set(key, found);
  return found;
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of createReadStream(path)) hash.update(piece as Buffer);
  return hash.digest("hex");
}
