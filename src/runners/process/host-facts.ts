import { access, readFile, stat } from "node:fs/promises";
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

export async function readHostFacts(root = "/"): Promise<HostFacts> {
  const read = (path: string) => readFile(join(root, path), "utf8").catch(() => "");
  const exists = (path: string) =>
    access(join(root, path)).then(
      () => true,
      () => false,
    );
  let bubblewrap: string | undefined;
  for (const place of programPlaces) {
    if (bubblewrap === undefined && (await exists(`${place}/bwrap`))) bubblewrap = `${place}/bwrap`;
  }
  const mode = bubblewrap === undefined ? 0 : (await stat(join(root, bubblewrap))).mode;
  const userns = (await read("/proc/sys/kernel/unprivileged_userns_clone")).trim();
  const maximum = (await read("/proc/sys/user/max_user_namespaces")).trim();
  const kernel = await read("/proc/version");
  return {
    platform: process.platform,
    isRoot: process.getuid?.() === 0,
    distributions: distributionsOf(await read("/etc/os-release")),
    isWsl1: /microsoft/i.test(kernel) && !/WSL2|microsoft-standard/i.test(kernel),
    bubblewrap,
    bubblewrapIsSetuid: (mode & 0o4000) !== 0,
    apparmorRestrictsUserns: (await read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")).trim() === "1",
    unprivilegedUsernsClone: userns === "" ? undefined : userns === "1",
    maxUserNamespaces: maximum === "" ? undefined : Number(maximum),
    container: await containerOf(read, exists),
    isNested: !/^\s*0\s+0\s+4294967295\s*$/.test(await read("/proc/self/uid_map")),
  };
}

function distributionsOf(osRelease: string): string[] {
  return [...osRelease.matchAll(/^ID(?:_LIKE)?=(.*)$/gm)]
    .flatMap((match) => (match[1] ?? "").replace(/["']/g, "").split(/\s+/))
    .filter(Boolean);
}

async function containerOf(
  read: (path: string) => Promise<string>,
  exists: (path: string) => Promise<boolean>,
): Promise<HostFacts["container"]> {
  if (await exists("/var/run/secrets/kubernetes.io")) return "kubernetes";
  if (await exists("/.dockerenv")) return "docker";
  if (await exists("/run/.containerenv")) return "podman";
  const groups = await read("/proc/1/cgroup");
  if (/kubepods/.test(groups)) return "kubernetes";
  if (/docker/.test(groups)) return "docker";
  return /containerd|lxc/.test(groups) ? "other" : undefined;
}
