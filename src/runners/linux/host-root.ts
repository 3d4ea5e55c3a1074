import { access, lstat, readlink } from "node:fs/promises";
import { join } from "node:path";
import { findHostCertificates } from "../../lib/host-certificates.ts";

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

/** Finds where this host has its programs and libraries. */
export async function findHostRoot(root = "/"): Promise<HostRoot> {
  const links: { path: string; target: string }[] = [];
  const directories: string[] = [];
  for (const path of programDirectories) {
    const found = await lstat(join(root, path)).catch(() => undefined);
    if (found?.isSymbolicLink()) links.push({ path, target: await readlink(join(root, path)) });
    else if (found?.isDirectory()) directories.push(path);
  }
  const etc: string[] = [];
  for (const path of neededEtc) {
    if (await isThere(join(root, path))) etc.push(path);
  }
  return { links, directories, etc, certificates: await findHostCertificates(root) };
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
