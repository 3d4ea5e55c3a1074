import { createHash } from "node:crypto";
import { access, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { IndexRequests } from "../index/index-requests.ts";
import { packageError } from "../package-error.ts";
import type { PackageLimits } from "../package-limits.ts";
import type { PackageProgress } from "../package-progress.ts";
import { type Candidate, candidateKey } from "../resolve/candidate.ts";
import { draftPath, type PackageStore } from "./package-store.ts";

/** The archive of a wheel in the store. A file has the name of its hash, and is complete. */
export function wheelPath({ wheels }: PackageStore, sha256: string): string {
  return join(wheels, `${sha256}.whl`);
}

/** The archive of a source distribution in the store, beside the wheels. */
export function sdistPath({ wheels }: PackageStore, sha256: string): string {
  return join(wheels, `${sha256}.tar.gz`);
}

function pathOf(store: PackageStore, { kind }: Candidate, sha256: string): string {
  return kind === "sdist" ? sdistPath(store, sha256) : wheelPath(store, sha256);
}

/** Downloads wheels and source distributions into the store, each once. A file that has none of the expected hashes is deleted. */
export class WheelStore {
  readonly #store: PackageStore;
  readonly #options: WheelStoreOptions;
  readonly #found = new Map<string, Promise<string>>();

  constructor(store: PackageStore, options: WheelStoreOptions) {
    this.#store = store;
    this.#options = options;
  }

  /** The sha256 of the candidate's file, which is then in the store. */
  get(candidate: Candidate): Promise<string> {
    const id = candidateKey(candidate);
    const found = this.#found.get(id) ?? this.#find(candidate);
    this.#found.set(id, found);
    return found;
  }

  async #find(candidate: Candidate): Promise<string> {
    for (const sha256 of candidate.sha256) {
      const isThere = await access(pathOf(this.#store, candidate, sha256)).then(
        () => true,
        () => false,
      );
      // With a list of allowed hashes any of them may be another version's: only one that the index names is this file's.
      if (isThere && candidate.file.sha256 === sha256) return sha256;
    }
    return this.#download(candidate);
  }

  async #download(candidate: Candidate): Promise<string> {
    const { requests, limits, onProgress } = this.#options;
    const { file, page, name, version } = candidate;
    const draft = draftPath(this.#store.wheels);
    const hash = createHash("sha256");
    try {
      const sha256 = await requests.get(
        {
          ...{ index: page.index, url: file.url, accept: "*/*", origins: { scope: page.scope } },
          ...{
            maxBytes: candidate.kind === "sdist" ? limits.sdistBytes : limits.wheelBytes,
            timeoutMs: limits.wheelMs,
          },
        },
        async ({ body, totalBytes }) => {
          const total = totalBytes === undefined ? {} : { totalBytes };
          let bytes = 0;
          onProgress?.({ kind: "downloading", name, version, bytes, ...total });
          await using target = await open(draft, "wx", 0o600);
          for await (const piece of body) {
            hash.update(piece);
            await target.writeFile(piece);
            bytes += piece.byteLength;
            onProgress?.({ kind: "downloading", name, version, bytes, ...total });
          }
          await target.datasync();
          return hash.digest("hex");
        },
      );
      if (sha256 === undefined)
        throw packageError("index", `${page.index.shown} lists ${file.name}, but does not have it`);
      if (!candidate.sha256.includes(sha256)) throw wrongHash(candidate, sha256);
      await rename(draft, pathOf(this.#store, candidate, sha256));
      return sha256;
    } finally {
      await rm(draft, { force: true });
    }
  }
}

export interface WheelStoreOptions {
  readonly requests: IndexRequests;
  readonly limits: PackageLimits;
  readonly onProgress?: ((event: PackageProgress) => void) | undefined;
}

/** The attack: a server or a mirror that hands out another file than the one that was published. */
function wrongHash({ file, page, sha256: expected }: Candidate, sha256: string) {
  const promised = `it has sha256:${sha256}, expected sha256:${expected[0]}${expected.length > 1 ? " or another one of yours" : ""}`;
  return packageError("hash", `${file.name} of ${page.index.shown} is not the file that was promised: ${promised}`, {
    hint: "it may have been tampered with, or damaged on the way: do not use it, and ask whoever runs the index",
  });
}
