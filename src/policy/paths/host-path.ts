import { userInfo } from "node:os";
import { isAbsolute, join, normalize, resolve } from "node:path";
import { accountHome, namespaceRoot } from "../../lib/files/namespace-root.ts";

/** What paths in a policy are relative to. */
export interface PathContext {
  /** directory that relative paths start from; absent: paths must be absolute */
  readonly baseDir?: string | undefined;
  /** home directory of the user who runs codecell: `~/` in a policy, and never mounted whole */
  readonly homeDir?: string | undefined;
}

export type ResolvedPath = { readonly path: string } | { readonly problem: string };

interface RefusedPlace {
  readonly place: string;
  /** `itself`: paths below may be mounted; `tree`: not even those; `writable`: those, but read-only */
  readonly reach: "itself" | "tree" | "writable";
  readonly why: string;
}

const linuxKernelFiles = "it is an interface of the Linux kernel";
const services = "it holds the sockets of the host's services";
const accounts = "it holds the host's accounts and keys";
const programs = "the host runs programs from it";
const everyone = "other programs and people keep files there";
const homes = "it holds whole home directories";

/** Paths that would give control of the host. A directory that contains one of them is refused too. */
export const refusedPlaces: readonly RefusedPlace[] = [
  ...places("tree", linuxKernelFiles, "/proc", "/sys", "/dev", "/boot"),
  ...places("tree", services, "/run", "/var/run", "/private/var/run"),
  ...places("tree", accounts, "/etc", "/private/etc"),
  ...places(
    "tree",
    "it holds every container's files",
    "/var/lib/docker",
    "/var/lib/containerd",
    "/var/lib/containers",
  ),
  ...places("tree", "it holds the cluster's credentials", "/var/lib/kubelet"),
  ...places("writable", programs, "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"),
  ...places("writable", programs, "/System", "/Library", "/Applications"),
  ...places("itself", everyone, "/tmp", "/var/tmp", "/private/tmp", "/opt"),
  ...places("itself", "it holds whole drives", "/mnt", "/media", "/Volumes"),
  ...places("itself", homes, "/home", "/Users"),
  ...places("itself", "it is a home directory, with its keys and settings", "/root"),
];

/** Makes a path of the policy absolute, or says why it cannot be used. Does not touch the file system. */
export function resolveHostPath(written: string, context: PathContext): ResolvedPath {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  if (/[\u0000-\u001f\u007f]/.test(written)) return { problem: "a path cannot contain control characters" };
  if (written.trim() === "") return { problem: "the path is empty" };
  if (written.startsWith("~")) return resolveHome(written, context.homeDir);
  if (isAbsolute(written)) return { path: resolve(normalize(written)) };
  if (context.baseDir === undefined) return { problem: "expected an absolute path" };
  return { path: resolve(context.baseDir, written) };
}

function resolveHome(written: string, homeDir: string | undefined): ResolvedPath {
  if (written !== "~" && !written.startsWith("~/")) return { problem: "only ~/ is supported, not another user's home" };
  if (homeDir === undefined) return { problem: "the home directory is not known; write an absolute path" };
  return { path: resolve(join(homeDir, written.slice(1))) };
}

/** Why an absolute host path may not be mounted, or undefined. Check the real path again before mounting. */
export function refusedPlace(
  path: string,
  options: { writable: boolean; homeDir?: string | undefined },
): string | undefined {
  if (path === "/") return "/ is the whole host";
  if (/(?:^|\/)(?:docker|podman|containerd|crio|buildkitd)\.sock$/.test(path))
    return `${path} gives control of the whole host`;
  if (/^\/mnt\/[a-z](?:\/Users)?$/.test(path)) return `${path} is a whole drive`;
  if (/^(?:\/mnt\/[a-z])?\/(?:home|Users)\/[^/]+$/.test(path) || path === options.homeDir) {
    return `${path} is a home directory, with its keys and settings; name a directory in it`;
  }
  const home = options.homeDir;
  if (home !== undefined && isBelow(home, path)) return `${path} contains the home directory ${home}`;
  for (const { place, reach, why } of refusedPlaces) {
    if (path === place) return `${path} is refused: ${why}`;
    if (isBelow(place, path)) return `${path} contains ${place}: ${why}`;
    if (!isBelow(path, place) || reach === "itself") continue;
    if (reach === "tree") return `${place} is refused, with everything below it: ${why}`;
    if (options.writable) return `${place} can only be mounted read-only: ${why}`;
  }
  return undefined;
}

/** The given home directory, else the account's. Never `$HOME`: only the CLI reads the environment. */
export function homeDirectory(given: string | undefined): string | undefined {
  if (given !== undefined) return resolve(given);
  try {
    const user = namespaceRoot(); // whose account has another number here
    return user === undefined ? userInfo().homedir : accountHome(user);
  } catch {
    // the account has no passwd entry, as in some containers
    return undefined;
  }
}

/** Whether a normalised absolute path is strictly below another one. */
export function isBelow(path: string, parent: string): boolean {
  return path.startsWith(parent === "/" ? "/" : `${parent}/`) && path !== parent;
}

function places(reach: RefusedPlace["reach"], why: string, ...names: string[]): RefusedPlace[] {
  return names.map((place) => ({ place, reach, why }));
}
