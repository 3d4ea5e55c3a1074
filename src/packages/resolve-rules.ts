/** The rules under which packages are chosen; `PackageRules` of the policy has them all. */
export interface ResolveRules {
  /** addresses of simple indexes, in order; empty: the index that this user's pip uses */
  readonly index: readonly string[];
  /** globs over normalised names, dependencies included */
  readonly allow: readonly string[];
  /** wins over `allow` */
  readonly deny: readonly string[];
  /** every requirement and dependency must be pinned with a hash */
  readonly hashes: boolean;
  /** releases younger than this are not seen */
  readonly minAgeMs: number;
  /** globs over normalised names that may be built from a source distribution */
  readonly sdists: readonly string[];
}
