/** Bounds on what an index may make the host do. */
export interface PackageLimits {
  /** of one page of an index, or one METADATA file */
  readonly pageBytes: number;
  /** for one page, redirects included */
  readonly pageMs: number;
  /** of one wheel */
  readonly wheelBytes: number;
  /** for one wheel: a server that sends a byte now and then must not hold a session's start for ever */
  readonly wheelMs: number;
  /** without a byte */
  readonly idleMs: number;
  /** of one source distribution */
  readonly sdistBytes: number;
  /** of one source distribution, unpacked */
  readonly sdistUnpackedBytes: number;
  /** of one wheel, unpacked */
  readonly unpackedBytes: number;
  /** in one wheel */
  readonly files: number;
  /** versions that the resolver may consider */
  readonly steps: number;
  /** of a set */
  readonly packages: number;
}

export const defaultLimits: PackageLimits = {
  pageBytes: 64 * 1024 ** 2,
  pageMs: 60_000,
  wheelBytes: 4 * 1024 ** 3,
  wheelMs: 30 * 60_000,
  idleMs: 30_000,
  sdistBytes: 128 * 1024 ** 2,
  sdistUnpackedBytes: 1024 ** 3,
  unpackedBytes: 8 * 1024 ** 3,
  files: 100_000,
  steps: 20_000,
  packages: 1_000,
};
