import { basename, dirname, join } from "node:path";
import { messageOf } from "../../../lib/errors.ts";
import type { RememberedTrial } from "../remembered-trial.ts";
import { createCellCgroup, socketLimitFile } from "./cell-cgroup.ts";
import { type CgroupFiles, errorCode, realCgroupFiles } from "./cgroup-files.ts";
import { ownCgroups } from "./cgroup-mounts.ts";

export type CgroupController = "memory" | "pids" | "cpu";

/** Which cgroups this process can use. */
export type CgroupSupport =
  | {
      readonly kind: "v2";
      /** cells are created in it, beside a leaf that contains this process */
      readonly dir: string;
      readonly controllers: ReadonlySet<CgroupController>;
      /** the uid whose processes may move themselves between groups in `dir`; default: codecell's own */
      readonly delegatedTo?: number;
    }
  | {
      readonly kind: "v1";
      readonly dirs: {
        readonly memory: string;
        readonly pids: string;
        readonly cpu?: string;
        /** only counts CPU time */
        readonly cpuacct?: string;
      };
      /** socket buffers have a limit of their own here: the memory limit of v1 does not count those of TCP and UDP */
      readonly limitsSockets: boolean;
    }
  | { readonly kind: "none"; readonly reason: string };

/** Whether groups that are created here can use this controller. */
export function cgroupHolds(support: CgroupSupport, controller: CgroupController): boolean {
  if (support.kind === "none") return false;
  return support.kind === "v2" ? support.controllers.has(controller) : support.dirs[controller] !== undefined;
}

export interface DetectOptions {
  /** name of the trial groups; simultaneous detections need different names */
  readonly trialName?: string;
  /** the pid of this process, as it appears in cgroup files */
  readonly pid?: number;
  /** default: whether this process is root */
  readonly isRoot?: boolean;
  /** directory with `cgroup` and `mountinfo` */
  readonly procSelf?: string;
  readonly files?: CgroupFiles;
  /** decides whether the trial is needed */
  readonly remembered?: RememberedTrial | undefined;
}

/** The group that this process moves into, because v2 allows no processes beside groups with limits. */
const hostLeaf = "codecell-host";

const trialLimits = { memoryBytes: 2 ** 26, socketBytes: 2 ** 24, pids: 16, cpus: 1 };

const notDelegated = (isRoot: boolean) =>
  `the own cgroup is not delegated; run under \`systemd-run ${isRoot ? "" : "--user "}--scope -p Delegate=yes\``;

/** Creates, limits and removes a trial group, because permissions and mount options do not show whether this works. */
export async function detectCgroups(options: DetectOptions = {}): Promise<CgroupSupport> {
  const { procSelf = "/proc/self", files = realCgroupFiles } = options;
  const trialName = options.trialName ?? `codecell-trial-${process.pid}`;
  try {
    const own = ownCgroups(await files.read(join(procSelf, "cgroup")), await files.read(join(procSelf, "mountinfo")));
    const support = (await unified(own.unified, options, files)) ?? (await separate(own.byController, files));
    if (support.kind === "none") return support;
    const trial = async () => {
      const group = await createCellCgroup(support, trialName, trialLimits, { files });
      await group[Symbol.asyncDispose]();
    };
    await (options.remembered?.pass(support, trial) ?? trial());
    return support;
  } catch (error) {
    return { kind: "none", reason: `codecell cannot create a cgroup here: ${messageOf(error)}` };
  }
}

/** Undefined if the unified tree has no controllers, so that v1 is tried. */
async function unified(
  own: string | undefined,
  { pid = process.pid, isRoot = process.getuid?.() === 0 }: DetectOptions,
  files: CgroupFiles,
): Promise<CgroupSupport | undefined> {
  if (own === undefined) return undefined;
  // a child of a codecell that moved itself starts in the leaf
  const dir = basename(own) === hostLeaf ? dirname(own) : own;
  const offered = words(await files.read(join(dir, "cgroup.controllers")).catch(() => ""));
  if (!offered.has("memory") || !offered.has("pids")) return undefined;
  const wanted = (["memory", "pids", "cpu"] as const).filter((controller) => offered.has(controller));

  const enabled = words(await files.read(join(dir, "cgroup.subtree_control")));
  const missing = wanted.filter((controller) => !enabled.has(controller));
  if (missing.length > 0 && !(await enable(dir, missing, pid, files))) {
    return { kind: "none", reason: notDelegated(isRoot) };
  }
  return { kind: "v2", dir, controllers: new Set(wanted) };
}

/** Turns the controllers on. If this process is the only obstacle, it moves itself into a leaf. */
async function enable(dir: string, controllers: readonly string[], pid: number, files: CgroupFiles): Promise<boolean> {
  const switchOn = () =>
    files.write(join(dir, "cgroup.subtree_control"), controllers.map((controller) => `+${controller}`).join(" "));
  try {
    await switchOn();
    return true;
  } catch (error) {
    if (errorCode(error) !== "EBUSY") return false;
  }
  // do not move other processes
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

async function separate(byController: ReadonlyMap<string, string>, files: CgroupFiles): Promise<CgroupSupport> {
  const memory = byController.get("memory");
  const pids = byController.get("pids");
  if (memory === undefined || pids === undefined) {
    return { kind: "none", reason: "the memory and pids controllers of cgroups are not mounted here" };
  }
  const cpu = byController.get("cpu");
  const cpuacct = byController.get("cpuacct");
  // cpu and cpuacct are often one mount, which needs only one group
  const isSeparate = cpuacct !== undefined && cpuacct !== cpu;
  const limitsSockets = await files.read(join(memory, socketLimitFile)).then(
    () => true,
    () => false,
  );
  const dirs = { memory, pids, ...(cpu ? { cpu } : {}), ...(isSeparate ? { cpuacct } : {}) };
  return { kind: "v1", dirs, limitsSockets };
}

function words(text: string): Set<string> {
  return new Set(text.split(/\s+/).filter(Boolean));
}
