import { existsSync, lstatSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { findHostCertificates } from "../../../lib/host-certificates.ts";

/** The parts of the host's root that a cell shares, read-only, besides /usr. */
export interface HostRoot {
  /** such as /bin → usr/bin, on hosts with a merged /usr */
  readonly links: readonly { readonly path: string; readonly target: string }[];
  /** such as /bin, on other hosts */
  readonly directories: readonly string[];
  /** entries of /etc that programs need */
  readonly etc: readonly string[];
  /** the certificate authorities that this host trusts, in one file */
  readonly certificates: string | undefined;
}

const programDirectories = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
const neededEtc = [
  "/etc/alternatives", // numpy's linear algebra library is a symlink through here
  "/etc/ld.so.cache", // locations of libraries outside the default directories
  "/etc/matplotlibrc", // Debian's matplotlib does not import without it
  "/etc/fonts", // font configuration
];

/** Finds where this host has its programs and libraries. Synchronous, because every command waits for it. */
export function findHostRoot(root = "/"): HostRoot {
  const links: { path: string; target: string }[] = [];
  const directories: string[] = [];
  for (const path of programDirectories) {
    const found = lstatSync(join(root, path), { throwIfNoEntry: false });
    if (found?.isSymbolicLink()) links.push({ path, target: readlinkSync(join(root, path)) });
    else if (found?.isDirectory()) directories.push(path);
  }
  const etc = neededEtc.filter((path) => existsSync(join(root, path)));
  return { links, directories, etc, certificates: findHostCertificates(root) };
}
