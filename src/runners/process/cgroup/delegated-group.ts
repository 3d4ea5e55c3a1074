import { join } from "node:path";
import { Cleanup } from "../../../lib/cleanup.ts";
import type { CgroupSupport } from "./cgroup.ts";
import { type CgroupFiles, realCgroupFiles } from "./cgroup-files.ts";
import { killMembers, removeCgroup } from "./cgroup-removal.ts";

type Unified = Extract<CgroupSupport, { kind: "v2" }>;

/** A v2 group in which the processes of one uid may move themselves from one child group to another. */
export interface DelegatedGroup extends AsyncDisposable {
  /** the cells' groups are created in it */
  readonly support: Unified;
  /** Moves a process, by its pid on the host, into the group's leaf. From there it may move into a cell's group. */
  place(pid: number): Promise<void>;
}

/** v2 allows no processes beside groups with limits, so the process that starts cells gets a group of its own. */
const leafName = "template";

/**
 * For codecell as root: cells have another uid, which may not move out of codecell's own group. The Linux kernel asks for write
 * access to `cgroup.procs` of the common ancestor, and gets it here. Limits stay root's, and cells do not see these files.
 */
export async function delegateGroup(
  support: Unified,
  name: string,
  uid: number,
  files: CgroupFiles = realCgroupFiles,
): Promise<DelegatedGroup> {
  await using cleanup = new Cleanup();
  const dir = join(support.dir, name);
  const leaf = join(dir, leafName);
  for (const path of [dir, leaf]) {
    await files.mkdir(path);
    cleanup.defer(() => removeCgroup(path, files));
  }
  cleanup.defer(() => killMembers([leaf], files));
  const controllers = [...support.controllers].map((controller) => `+${controller}`).join(" ");
  if (controllers) await files.write(join(dir, "cgroup.subtree_control"), controllers);
  await files.chown(join(dir, "cgroup.procs"), uid);
  const owned = cleanup.move();
  return {
    support: { ...support, dir, delegatedTo: uid },
    place: (pid) => files.write(join(leaf, "cgroup.procs"), String(pid)),
    [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose](),
  };
}
