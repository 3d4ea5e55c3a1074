/** What is going on, for people who wait. Names and versions come from an index: print them through safe-text. */
export type PackageProgress =
  | { readonly kind: "resolving"; readonly name: string }
  | {
      readonly kind: "downloading";
      readonly name: string;
      readonly version: string;
      readonly bytes: number;
      readonly totalBytes?: number;
    }
  | { readonly kind: "building"; readonly name: string; readonly version: string }
  | { readonly kind: "unpacking"; readonly name: string; readonly version: string };
