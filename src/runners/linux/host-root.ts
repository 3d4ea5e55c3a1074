import { access, lstat, readlink } from "node:fs/promises";
import { join } from "node:path";
import { findHostCertificates } from "../../lib/host-certificates.ts";

/** The parts of the host's root that a cell shares, read-only, besides /usr. */
export interface HostRoot {
  /** such as /bin → usr/bin, on hosts that merged them */
  readonly links: readonly { readonly path: string; readonly target: string }[];
  /** such as /bin on hosts that did not */
  readonly directories: readonly string[];
  /** single entries of /etc without which programs do not start */
  readonly etc: readonly string[];
  /** the authorities that this host trusts, in one file */
  readonly certificates: string | undefined;
}

const programDirectories = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
const neededEtc = [
  "/etc/alternatives", // numpy's linear algebra is a link through here
  "/etc/ld.so.cache", // libraries outside the default directories
  "/etc/matplotlibrc", // Debian's matplotlib does not import without it
  "/etc/fonts", // where programs that draw look for fonts
];

/** Looks at how this host lays out its programs and libraries. */
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
