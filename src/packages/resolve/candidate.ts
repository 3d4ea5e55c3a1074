import type { IndexFile } from "../index/index-file.ts";
import type { PackagePage } from "../index/package-page.ts";
import type { WheelName } from "../wheels/wheel-name.ts";

/** A file that the rules and the target allow: a wheel, or a source distribution that may be built. */
export type Candidate = WheelCandidate | SdistCandidate;

export interface WheelCandidate extends CandidateFile {
  readonly kind: "wheel";
  readonly wheel: WheelName;
}

export interface SdistCandidate extends CandidateFile {
  readonly kind: "sdist";
}

interface CandidateFile {
  /** normalised */
  readonly name: string;
  readonly version: string;
  readonly file: IndexFile;
  readonly page: PackagePage;
  /** hashes, one of which the file must have; never empty */
  readonly sha256: readonly string[];
  readonly isPrerelease: boolean;
}

/**
 * What is remembered of a file is remembered for this candidate. The attack: one index names the address of another index's
 * file, and gets it, with that index's credentials and without a look at the hash that it promised itself.
 */
export function candidateKey({ kind, name, version, file, page, sha256 }: Candidate): string {
  const { url, authorization = null } = page.index;
  return JSON.stringify([url.href, authorization, kind, name, version, file.url.href, file.metadataSha256, sha256]);
}

/** What a page offers, and why the rest of it is not taken. */
export interface CandidateList {
  /** newest first, final releases before pre-releases */
  readonly candidates: readonly Candidate[];
  /** by version, newest first */
  readonly left: readonly { readonly version: string; readonly why: string }[];
}
