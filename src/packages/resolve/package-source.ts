import { createHash } from "node:crypto";
import { quotedName } from "../../lib/quoted-name.ts";
import { Semaphore } from "../../lib/waiting/semaphore.ts";
import type { IndexAddress } from "../index/index-address.ts";
import type { IndexRequests } from "../index/index-requests.ts";
import { findPackagePage } from "../index/package-page.ts";
import { packageError } from "../package-error.ts";
import type { PackageLimits } from "../package-limits.ts";
import type { PackageProgress } from "../package-progress.ts";
import type { SdistBuilds } from "../sdists/sdist-builds.ts";
import { refusedSdist } from "../sdists/sdist-error.ts";
import { isStatic } from "../sdists/static-metadata.ts";
import type { PackageStore } from "../store/package-store.ts";
import { type WheelStore, wheelPath } from "../store/wheel-store.ts";
import { WheelArchive } from "../wheels/wheel-archive.ts";
import { metadataText, wheelInfo } from "../wheels/wheel-info.ts";
import { mostMetadataBytes, parseMetadata, type WheelMetadata } from "../wheels/wheel-metadata.ts";
import {
  type Candidate,
  type CandidateList,
  candidateKey,
  type SdistCandidate,
  type WheelCandidate,
} from "./candidate.ts";
import { type CandidateRules, listCandidates } from "./list-candidates.ts";

/** What the resolver asks. Answers are remembered, so that asking again costs nothing. */
export interface PackageSource {
  candidates(name: string): Promise<CandidateList>;
  metadata(candidate: Candidate): Promise<WheelMetadata>;
}

/** Indexes as a source of packages, a few requests at a time. */
export class IndexSource implements PackageSource {
  readonly #options: IndexSourceOptions;
  readonly #permits = new Semaphore(8);
  readonly #lists = new Map<string, Promise<CandidateList>>();
  readonly #metadata = new Map<string, Promise<WheelMetadata>>();

  constructor(options: IndexSourceOptions) {
    this.#options = options;
  }

  candidates(name: string): Promise<CandidateList> {
    const known = this.#lists.get(name);
    if (known) return known;
    const list = this.#list(name);
    list.catch(() => {}); // asked for ahead of time: whoever needs it sees the failure
    this.#lists.set(name, list);
    return list;
  }

  metadata(candidate: Candidate): Promise<WheelMetadata> {
    const id = candidateKey(candidate);
    const known = this.#metadata.get(id) ?? this.#readMetadata(candidate);
    this.#metadata.set(id, known);
    return known;
  }

  async #list(name: string): Promise<CandidateList> {
    const { requestedHashes, rules, onProgress } = this.#options;
    const hashes = requestedHashes.get(name);
    if (rules.rules.hashes && !hashes)
      throw packageError("hash", `${quotedName(name)} has no hash, and kernel.packages.hashes requires one`, {
        hint: "list every package, dependencies too, as name==version --hash=sha256:…; pip-compile --generate-hashes writes such a file",
      });
    return this.#permits.run(async () => {
      onProgress?.({ kind: "resolving", name });
      const page = await findPackagePage(name, this.#options);
      return listCandidates(name, page, { ...rules, hashes });
    });
  }

  async #readMetadata(candidate: Candidate): Promise<WheelMetadata> {
    if (candidate.kind === "sdist") return this.#ofSource(candidate);
    const { wheel, file } = candidate;
    const text = await this.#permits.run(
      async () => (await this.#offered(candidate)) ?? (await this.#packed(candidate)),
    );
    return parseMetadata(text, wheel, file.name);
  }

  /** What the source distribution promises for all its wheels; without a promise, what its wheel says. */
  async #ofSource(candidate: SdistCandidate): Promise<WheelMetadata> {
    const { sdists, store, limits } = this.#options;
    if (!sdists) throw new Error("nobody builds source distributions here");
    const label = candidate.file.name;
    const { pkgInfo } = await sdists.contents(candidate);
    if (pkgInfo !== undefined && isStatic(pkgInfo)) return parseMetadata(pkgInfo, candidate, label, refusedSdist);
    const { sha256, fileName } = await sdists.wheel(candidate);
    using archive = await WheelArchive.open(wheelPath(store, sha256), fileName, limits);
    return parseMetadata(
      await metadataText(archive, await wheelInfo(archive, candidate, label), label),
      candidate,
      label,
    );
  }

  /** PEP 658: a small file beside the wheel, so that a version that is not taken is not downloaded. */
  async #offered({ file, page }: WheelCandidate): Promise<string | undefined> {
    if (file.metadataSha256 === undefined) return undefined;
    const { requests, limits } = this.#options;
    const url = new URL(file.url);
    url.pathname += ".metadata";
    return requests.get(
      {
        ...{ index: page.index, url, accept: "*/*", origins: { scope: page.scope } },
        ...{ maxBytes: mostMetadataBytes, timeoutMs: limits.pageMs },
      },
      async ({ body }) => {
        const pieces: Buffer[] = [];
        for await (const piece of body) pieces.push(piece);
        const content = Buffer.concat(pieces);
        if (createHash("sha256").update(content).digest("hex") !== file.metadataSha256)
          throw packageError(
            "hash",
            `the metadata of ${file.name} does not have the hash that ${page.index.shown} gives`,
          );
        return content.toString("utf8");
      },
    );
  }

  async #packed(candidate: WheelCandidate): Promise<string> {
    const { store, wheels, limits } = this.#options;
    const label = candidate.file.name;
    const path = wheelPath(store, await wheels.get(candidate));
    using archive = await WheelArchive.open(path, label, limits);
    return metadataText(archive, await wheelInfo(archive, candidate.wheel, label), label);
  }
}

export interface IndexSourceOptions {
  readonly indexes: readonly IndexAddress[];
  readonly requests: IndexRequests;
  readonly store: PackageStore;
  readonly wheels: WheelStore;
  /** builds what the rules allow; absent: they allow nothing */
  readonly sdists?: SdistBuilds | undefined;
  readonly limits: PackageLimits;
  readonly rules: Omit<CandidateRules, "hashes">;
  /** by normalised name */
  readonly requestedHashes: ReadonlyMap<string, ReadonlySet<string>>;
  readonly onProgress?: ((event: PackageProgress) => void) | undefined;
}
