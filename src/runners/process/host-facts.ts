import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** Facts about this host that decide whether bubblewrap works. */
export interface HostFacts {
  readonly platform: string;
  readonly isRoot: boolean;
  /** ID and ID_LIKE of /etc/os-release */
  readonly distributions: readonly string[];
  readonly isWsl1: boolean;
  /** path of bwrap, if it is installed */
  readonly bubblewrap: string | undefined;
  readonly bubblewrapIsSetuid: boolean;
  /** Ubuntu's rule that only programs with an AppArmor profile may create user namespaces */
  readonly apparmorRestrictsUserns: boolean;
  /** Debian's setting; undefined if the Linux kernel does not have it */
  readonly unprivilegedUsernsClone: boolean | undefined;
  readonly maxUserNamespaces: number | undefined;
  readonly container: "docker" | "podman" | "kubernetes" | "other" | undefined;
  /** in a user namespace that another sandbox created */
  readonly isNested: boolean;
}

const programPlaces = ["/usr/bin", "/usr/local/bin", "/bin"];

/** Synchronous, because every command waits for it: a dozen small files take 0.3 ms so, and 5 ms through the thread pool. */
export function readHostFacts(root = "/"): HostFacts {
  const read = (path: string) => readText(join(root, path));
  const exists = (path: string) => existsSync(join(root, path));
  const bubblewrap = programPlaces.map((place) => `${place}/bwrap`).find(exists);
  const mode = bubblewrap === undefined ? 0 : statSync(join(root, bubblewrap)).mode;
  const userns = read("/proc/sys/kernel/unprivileged_userns_clone").trim();
  const maximum = read("/proc/sys/user/max_user_namespaces").trim();
  const kernel = read("/proc/version");
  return {
    platform: process.platform,
    isRoot: process.getuid?.() === 0,
    distributions: distributionsOf(read("/etc/os-release")),
    isWsl1: /microsoft/i.test(kernel) && !/WSL2|microsoft-standard/i.test(kernel),
    bubblewrap,
    bubblewrapIsSetuid: (mode & 0o4000) !== 0,
    apparmorRestrictsUserns: read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").trim() === "1",
    unprivilegedUsernsClone: userns === "" ? undefined : userns === "1",
    maxUserNamespaces: maximum === "" ? undefined : Number(maximum),
    container: containerOf(read, exists),
    isNested: !/^\s*0\s+0\s+4294967295\s*$/.test(read("/proc/self/uid_map")),
  };
}

function distributionsOf(osRelease: string): string[] {
  return [...osRelease.matchAll(/^ID(?:_LIKE)?=(.*)$/gm)]
    .flatMap((match) => (match[1] ?? "").replace(/["']/g, "").split(/\s+/))
    .filter(Boolean);
}

/** The text of a file, or "" if it cannot be read. */
export function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function containerOf(read: (path: string) => string, exists: (path: string) => boolean): HostFacts["container"] {
  if (exists("/var/run/secrets/kubernetes.io")) return "kubernetes";
  if (exists("/.dockerenv")) return "docker";
  if (exists("/run/.containerenv")) return "podman";
  const groups = read("/proc/1/cgroup");
  if (/kubepods/.test(groups)) return "kubernetes";
  if (/docker/.test(groups)) return "docker";
  return /containerd|lxc/.test(groups) ? "other" : undefined;
}
