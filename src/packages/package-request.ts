/** A package that somebody asks for. */
export interface PackageRequest {
  /** PEP 508, as in `pandas[excel]>=2; python_version > "3.8"` */
  readonly requirement: string;
  /** who asks, for errors: `--with`, `requirements.txt:3`, `script header`, `kernel.packages` */
  readonly from: string;
  /** `sha256:…`; only a file with one of these is accepted */
  readonly hashes?: readonly string[];
}
