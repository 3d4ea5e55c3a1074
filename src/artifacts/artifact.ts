/** A file that a run created or changed, as the host found it. */
export interface Artifact {
  /** path in the workspace */
  readonly name: string;
  readonly size: number;
  readonly mimeType: string;
  /** of the content, in hex */
  readonly sha256: string;
  readonly modifiedMs: number;
  /** the run that created or changed it */
  readonly run?: number;
}

/** Why a changed file is not an artifact. */
export type LeftOutReason =
  | "bad_name"
  | "missing"
  | "refused"
  | "too_large"
  | "total_limit"
  | "changing"
  | "count_limit";

/** A changed file that is not an artifact. */
export interface LeftOut {
  /** safe to print: control characters are replaced */
  readonly name: string;
  readonly reason: LeftOutReason;
  readonly message: string;
}

/** The files that were actually found. */
export interface DescribedArtifacts {
  readonly artifacts: readonly Artifact[];
  /** files that are not artifacts, and why; the first 100 of `leftOutCount`, and of those first what the host would obey */
  readonly leftOut: readonly LeftOut[];
  readonly leftOutCount: number;
}
