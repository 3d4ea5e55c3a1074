/** The Python that will import the packages. */
export interface PackageTarget {
  /** `3.11` */
  readonly python: string;
  /** `3.11.7`; without it, `python_full_version` counts as `3.11.0` */
  readonly fullPython?: string;
  readonly implementation: "cp";
  readonly platform: `linux_${string}` | `pyodide_${string}_wasm32`;
  /** the C library of a Linux target; neither: only wheels without native code, and `linux_…` ones */
  readonly glibc?: readonly [number, number];
  readonly musl?: readonly [number, number];
}
