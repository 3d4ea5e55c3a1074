import type { Policy } from "../policy/schema.ts";
import { byHost, byOs, type Held } from "./answer-rules.ts";
import type { EnforcementReceipt } from "./receipt.ts";

/** Packages that were downloaded and unpacked for a cell. */
export interface CellPackages {
  /** names the content: cells with other packages never share anything that was started for these */
  readonly key: string;
  /** a host directory that nothing changes anymore */
  readonly directory: string;
  readonly packages: readonly { readonly name: string; readonly version: string }[];
}

/** The Python of a cell, as far as it decides which wheels it can load. */
export interface CellPython {
  readonly version: readonly [major: number, minor: number, micro: number];
  /** as in the name of a wheel, such as `linux_x86_64` */
  readonly platform: `linux_${string}` | `pyodide_${string}_wasm32`;
  readonly glibc?: readonly [number, number];
  readonly musl?: readonly [number, number];
}

/** Where packages are in a cell. */
export const packagesTarget = "/deps";

/** More than these are counted, not named. */
const namesShown = 20;

/** Pure: import directories with the packages after the standard library, and before what the interpreter came with. */
export function pathWithPackages(path: readonly string[], packages: string | undefined): string[] {
  if (packages === undefined) return [...path];
  const at = path.findIndex((entry) => /\/(?:site|dist)-packages(?:\/|$)/.test(entry));
  return at < 0 ? [...path, packages] : [...path.slice(0, at), packages, ...path.slice(at)];
}

/** Pure: the target of wheels for a Python on Linux. `libc` is what Python says of it: `glibc 2.36`, `musl 1.2`. */
export function linuxPython(version: readonly number[], arch: string, libc: string | undefined): CellPython {
  const [, kind, major, minor] = /^(glibc|musl) (\d+)\.(\d+)/.exec(libc ?? "") ?? [];
  const machine = { x64: "x86_64", arm64: "aarch64" }[arch] ?? arch;
  return {
    version: [version[0] ?? 3, version[1] ?? 0, version[2] ?? 0],
    platform: `linux_${machine}`,
    ...(kind === undefined ? {} : { [kind]: [Number(major), Number(minor)] as const }),
  };
}

/** Runs in Python: which C library it uses. Wheels with native code are built for one. */
export const libcQuestion = `def libc():
    import os, sysconfig
    if "musl" in str(sysconfig.get_config_var("HOST_GNU_TYPE")): return "musl 1.2"
    try: return os.confstr("CS_GNU_LIBC_VERSION")
    except Exception: return None`;

/** How `kernel.packages.inside` is enforced where nothing else is installed. */
export const installedByPrograms =
  "what programs ask for is checked by the host: wheels only, each checked against its hash; nothing of them runs on the host";

/** The row for `kernel.packages` of a runner that mounts them. */
export function mountedPackages({ kernel }: Policy, where = "read-only bind mount"): Held {
  const { install, inside, sdists } = kernel.packages;
  if (install.length === 0) return inside ? byHost(installedByPrograms) : byOs("nothing is installed");
  const built = sdists.length > 0 ? ", or built in a cell without a network" : " only";
  return byHost(`wheels${built}, each checked against its hash; nothing of them runs on the host; ${where}`);
}

/** The receipt with the versions that the cell got. */
export function receiptWithPackages(receipt: EnforcementReceipt, packages: CellPackages): EnforcementReceipt {
  const named = packages.packages.slice(0, namesShown).map(({ name, version }) => `${name} ${version}`);
  const more = packages.packages.length - named.length;
  const list = [...named, ...(more > 0 ? [`${more} more`] : [])].join(", ");
  return {
    ...receipt,
    rules: receipt.rules.map((row) =>
      row.rule === "kernel.packages" ? { ...row, how: `${row.how}; installed: ${list}` } : row,
    ),
  };
}
