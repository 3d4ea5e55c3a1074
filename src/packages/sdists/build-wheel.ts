import type { PreparedPackages } from "../prepared-packages.ts";

/** A source distribution to be built in a cell of its own. Everything in it is untrusted. */
export interface WheelBuild {
  readonly sdist: { readonly path: string; readonly label: string };
  /** `module` or `module:object` */
  readonly backend: string;
  /** directories of the source that have the backend itself */
  readonly backendPath: readonly string[];
  /** for `/deps` of the cell; undefined: the backend needs nothing */
  readonly requirements: PreparedPackages | undefined;
  /** whether the backend may ask for more requirements; otherwise it builds */
  readonly mayAsk: boolean;
  /** a new file of the host, for the wheel */
  readonly into: string;
  readonly maxBytes: number;
  readonly signal?: AbortSignal | undefined;
}

/** How a build ended. Names, requirements and output come from the cell: they are hostile until checked. */
export type BuildOutcome =
  | { readonly kind: "built"; readonly fileName: string }
  | { readonly kind: "needs"; readonly requirements: readonly string[] }
  | { readonly kind: "failed"; readonly why: string; readonly output: string; readonly hint?: string };

/** Builds a wheel, never on the host. Sessions hand this in: packages know nothing of cells. */
export type BuildWheel = (build: WheelBuild) => Promise<BuildOutcome>;
