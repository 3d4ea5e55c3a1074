import { basename, dirname, join } from "node:path";
import { messageOf } from "../../lib/errors.ts";
import { createCellCgroup } from "./cell-cgroup.ts";
import { type CgroupFiles, errorCode, realCgroupFiles } from "./cgroup-files.ts";
import { ownCgroups } from "./cgroup-mounts.ts";

export type CgroupController = "memory" | "pids" | "cpu";

/** What this process may do with control groups here. */
export type CgroupSupport =
  | {
      readonly kind: "v2";
      /** cells are made in it, beside a leaf that holds this process */
      readonly dir: string;
      readonly controllers: ReadonlySet<CgroupController>;
    }
  | {
      readonly kind: "v1";
      readonly dirs: {
        readonly memory: string;
        readonly pids: string;
        readonly cpu?: string;
        /** counts time and limits nothing */
        readonly cpuacct?: string;
      };
    }
  | { readonly kind: "none"; readonly reason: string };

/** Whether groups made here really limit what the controller is about. */
export function cgroupHolds(support: CgroupSupport, controller: CgroupController): boolean {
  if (support.kind === "none") return false;
  return support.kind === "v2" ? support.controllers.has(controller) : support.dirs[controller] !== undefined;
}

export interface DetectOptions {
  /** name of the trial groups; two detections at once need two names */
  readonly trialName?: string;
  /** this process, as the files of the Linux kernel spell it */
  readonly pid?: number;
  /** directory with `cgroup` and `mountinfo` */
  readonly procSelf?: string;
  readonly files?: CgroupFiles;
}

/** The group inside a delegated one that holds this process: v2 allows no processes beside sub-groups with limits. */
const hostLeaf = "codecell-host";

const notDelegated = "the own cgroup is not delegated; run under `systemd-run --user --scope -p Delegate=yes`";

/** Finds out by trial: makes a group, limits it and removes it, because rights and mount options promise nothing. */
export async function detectCgroups(options: DetectOptions = {}): Promise<CgroupSupport> {
  const { procSelf = "/proc/self", files = realCgroupFiles } = options;
  const trialName = options.trialName ?? `codecell-trial-${process.pid}`;
  try {
    const own = ownCgroups(await files.read(join(procSelf, "cgroup")), await files.read(join(procSelf, "mountinfo")));
    const support = (await unified(own.unified, options.pid ?? process.pid, files)) ?? separate(own.byController);
    if (support.kind === "none") return support;
    const trial = await createCellCgroup(support, trialName, { memoryBytes: 2 ** 26, pids: 16, cpus: 1 }, { files });
    await trial[Symbol.asyncDispose]();
    return support;
  } catch (error) {
    return { kind: "none", reason: `codecell cannot create a cgroup here: ${messageOf(error)}` };
  }
}

/** Undefined where the unified tree has no controllers, so that v1 is asked. */
async function unified(own: string | undefined, pid: number, files: CgroupFiles): Promise<CgroupSupport | undefined> {
  if (own === undefined) return undefined;
  // a process started by one that moved itself finds itself in the leaf
  const dir = basename(own) === hostLeaf ? dirname(own) : own;
  const offered = words(await files.read(join(dir, "cgroup.controllers")).catch(() => ""));
  if (!offered.has("memory") || !offered.has("pids")) return undefined;
  const wanted = (["memory", "pids", "cpu"] as const).filter((controller) => offered.has(controller));

  const enabled = words(await files.read(join(dir, "cgroup.subtree_control")));
  const missing = wanted.filter((controller) => !enabled.has(controller));
  if (missing.length > 0 && !(await enable(dir, missing, pid, files))) return { kind: "none", reason: notDelegated };
  return { kind: "v2", dir, controllers: new Set(wanted) };
}

/** True when the controllers are on for sub-groups; moves this process into a leaf if it is all that is in the way. */
async function enable(dir: string, controllers: readonly string[], pid: number, files: CgroupFiles): Promise<boolean> {
  const switchOn = () =>
    files.write(join(dir, "cgroup.subtree_control"), controllers.map((controller) => `+${controller}`).join(" "));
  try {
    await switchOn();
    return true;
  } catch (error) {
    if (errorCode(error) !== "EBUSY") return false;
  }
  // other processes here are not ours to move
  const members = words(await files.read(join(dir, "cgroup.procs")));
  if (members.size !== 1 || !members.has(String(pid))) return false;
  const leaf = join(dir, hostLeaf);
  try {
    await files.mkdir(leaf).catch((error: unknown) => {
      if (errorCode(error) !== "EEXIST") throw error;
    });
    await files.write(join(leaf, "cgroup.procs"), String(pid));
    await switchOn();
    return true;
  } catch {
    return false;
  }
}

function separate(byController: ReadonlyMap<string, string>): CgroupSupport {
  const memory = byController.get("memory");
  const pids = byController.get("pids");
  if (memory === undefined || pids === undefined) {
    return { kind: "none", reason: "the memory and pids controllers of cgroups are not mounted here" };
  }
  const cpu = byController.get("cpu");
  const cpuacct = byController.get("cpuacct");
  // cpu and cpuacct are often one mount: one group then serves both
  const counted = cpuacct !== undefined && cpuacct !== cpu;
  return { kind: "v1", dirs: { memory, pids, ...(cpu ? { cpu } : {}), ...(counted ? { cpuacct } : {}) } };
}

function words(text: string): Set<string> {
  return new Set(text.split(/\s+/).filter(Boolean));
}
