import { CodecellError } from "../lib/errors.ts";

/** Why packages could not be prepared, for programs: `details.reason` of a `packages_failed`. */
export type PackageFailure =
  /** no index of the list has that name */
  | "unknown"
  /** `kernel.packages.allow` or `deny` */
  | "denied"
  /** no version that all requirers accept, or none that the rules and this Python allow */
  | "no_version"
  /** a downloaded file is not what its hash says, or there is no hash */
  | "hash"
  /** a source distribution that could not be built */
  | "build"
  /** an archive that is damaged, or that tries to write where it may not */
  | "archive"
  /** the index cannot be reached, refuses, or answers with something unreadable */
  | "index"
  /** nothing in the cache, and the network is off */
  | "offline"
  /** a bound on steps, bytes, files or time */
  | "limit";

/** An error of the packages themselves; a mistake in what was asked for is a `usage` error instead. */
export function packageError(
  reason: PackageFailure,
  message: string,
  options: { readonly hint?: string; readonly cause?: unknown } = {},
): CodecellError {
  return new CodecellError("packages_failed", message, { ...options, details: { reason } });
}
