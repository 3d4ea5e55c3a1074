/** A package of a set. */
export interface PreparedPackage {
  /** normalised */
  readonly name: string;
  readonly version: string;
  /** of the wheel */
  readonly sha256: string;
  /** the index's address, without credentials */
  readonly index: string;
  /** its file name */
  readonly wheel: string;
  /** sha256 of the source distribution that it was built from; absent: the index has the wheel */
  readonly sdist?: string;
}

/** Packages that are ready to be mounted. */
export interface PreparedPackages {
  /** sha256 over the wheels' hashes */
  readonly key: string;
  /** read-only tree, for `/deps` and `sys.path` */
  readonly directory: string;
  /** sorted by name */
  readonly packages: readonly PreparedPackage[];
  /** no index was asked, and nothing was unpacked */
  readonly fromCache: boolean;
}
