import { join } from "node:path";
import { type MountinfoEntry, parseMountinfo } from "../../../lib/files/mountinfo.ts";

/** The cgroups of this process, as host directories. */
export interface OwnCgroups {
  /** the unified (v2) tree */
  readonly unified: string | undefined;
  /** the v1 trees by controller */
  readonly byController: ReadonlyMap<string, string>;
}

/** Pure: finds them from the texts of /proc/self/cgroup and /proc/self/mountinfo. */
export function ownCgroups(cgroupText: string, mountinfoText: string): OwnCgroups {
  const memberships = cgroupText.split("\n").flatMap(parseMembership);
  const mounts = parseMountinfo(mountinfoText);

  const unifiedPath = memberships.find(({ controllers }) => controllers.length === 0)?.path;
  const unifiedMount = mounts.find(({ type }) => type === "cgroup2");
  const byController = new Map<string, string>();
  for (const { controllers, path } of memberships) {
    for (const controller of controllers) {
      const mount = mounts.find(({ type, superOptions }) => type === "cgroup" && superOptions.includes(controller));
      const directory = mount && directoryOf(mount, path);
      if (directory !== undefined) byController.set(controller, directory);
    }
  }
  const unified = unifiedMount && unifiedPath !== undefined ? directoryOf(unifiedMount, unifiedPath) : undefined;
  return { unified, byController };
}

/** Parses `4:memory:/some/path`, or `0::/some/path` for the unified tree. */
function parseMembership(line: string): { controllers: string[]; path: string }[] {
  const match = /^\d+:([^:]*):(\/.*)$/.exec(line);
  if (match?.[1] === undefined || match[2] === undefined) return [];
  return [{ controllers: match[1].split(",").filter(Boolean), path: match[2] }];
}

/** A container sees only the part of the tree below `root`. Undefined if this process is outside that part. */
function directoryOf(mount: MountinfoEntry, path: string): string | undefined {
  if (path === mount.root) return mount.point;
  if (mount.root === "/") return path.startsWith("/..") ? undefined : join(mount.point, path);
  return path.startsWith(`${mount.root}/`) ? join(mount.point, path.slice(mount.root.length)) : undefined;
}
