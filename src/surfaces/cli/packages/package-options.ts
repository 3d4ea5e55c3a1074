import type { OptionTable } from "../shell/arguments.ts";

/** Options that add packages for one call. */
export const packageOptions = {
  with: {
    type: "string",
    multiple: true,
    value: "NAME[==VERSION]",
    help: "Install a package from an index for this call. Repeatable.",
  },
  requirements: {
    type: "string",
    short: "r",
    multiple: true,
    value: "FILE",
    help: "Install the packages of a requirements.txt for this call. Repeatable.",
  },
  "index-url": {
    type: "string",
    multiple: true,
    value: "URL",
    help: "Package index. Default: the policy's, else the one that your pip uses. Repeatable: the first that knows a name supplies it.",
  },
  offline: { type: "boolean", help: "Use cached packages only, without the network." },
} as const satisfies OptionTable;

export interface PackageFlags {
  readonly with?: string[] | undefined;
  readonly requirements?: string[] | undefined;
  readonly "index-url"?: string[] | undefined;
  readonly offline?: boolean | undefined;
}

export function hasPackageFlags(flags: PackageFlags): boolean {
  return [flags.with, flags.requirements, flags["index-url"], flags.offline].some((flag) => flag !== undefined);
}
