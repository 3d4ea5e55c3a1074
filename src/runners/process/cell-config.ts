import type { KernelSetup } from "../../kernel/messages.ts";
import { certificateVariables } from "../../lib/host-certificates.ts";
import type { Policy } from "../../policy/schema.ts";
import { packagesTarget } from "../cell-packages.ts";
import { largestFileBytes } from "../disk-rule.ts";
import { linuxKernelSetup } from "../linux/kernel-setup.ts";
import type { CellMount } from "../linux/mounts/mounts.ts";
import type { PythonInstallation } from "../linux/python/python.ts";
import { interpreterBytes, someCores } from "../linux/rlimits.ts";
import { socketLimits } from "../linux/socket-limits.ts";
import { insidePath } from "./bubblewrap.ts";
import { cgroupHolds } from "./cgroup/cgroup.ts";
import type { ProcMasks } from "./proc-masks.ts";
import type { ProcessFacts } from "./process-facts.ts";

const tmpBytes = 64 * 1024 * 1024;
const shmBytes = 64 * 1024 * 1024;

/** The configuration of a cell, which its first process (Python) reads. */
export interface CellConfig {
  readonly tmpBytes: number;
  readonly shmBytes: number;
  readonly diskBytes: number;
  readonly fileBytes: number;
  readonly files: number;
  readonly maskFiles: readonly string[];
  readonly maskDirs: readonly string[];
  readonly mounts: readonly Pick<CellMount, "stage" | "target" | "readOnly" | "deny" | "pins" | "identity">[];
  /** rlimits, if no cgroup enforces the limit */
  readonly nprocLimit?: number;
  readonly dataLimit?: number;
  readonly affinity?: readonly number[];
}

/** Pure: the configuration of a policy's cell on this host. */
export function cellConfig(
  policy: Policy,
  facts: ProcessFacts,
  masks: ProcMasks,
  mounts: readonly CellMount[],
): CellConfig {
  const { proc } = policy;
  return {
    tmpBytes,
    shmBytes,
    diskBytes: proc.diskBytes,
    fileBytes: largestFileBytes(policy),
    files: proc.files,
    maskFiles: masks.files,
    maskDirs: masks.directories,
    mounts: cellMounts(mounts),
    ...(cgroupHolds(facts.cgroups, "pids") ? {} : { nprocLimit: proc.pids }),
    ...(cgroupHolds(facts.cgroups, "memory") ? {} : { dataLimit: proc.memoryBytes }),
    ...(cgroupHolds(facts.cgroups, "cpu") ? {} : { affinity: someCores(proc.cpus, facts.cpus) }),
  };
}

/** What the cell's first process needs to know about its mounts. */
export function cellMounts(mounts: readonly CellMount[]): CellConfig["mounts"] {
  return mounts.map(({ stage, target, readOnly, deny, pins, identity }) => {
    return { stage, target, readOnly, deny, pins, identity };
  });
}

/** Includes the files in tmpfs. They count as the cell's memory and survive a kill, so a full /tmp would kill every later run. */
export function groupLimits(policy: Policy, hasSessionDirectory: boolean) {
  const { memoryBytes, pids, cpus } = policy.proc;
  return {
    memoryBytes: memoryBytes + privateFilesBytes(policy, hasSessionDirectory),
    socketBytes: socketLimits(memoryBytes).limitBytes,
    pids: pids + kernelProcesses,
    cpus,
  };
}

/** Total size of the file systems in memory. */
export function privateFilesBytes(policy: Policy, hasSessionDirectory: boolean): number {
  const isOnDisk = policy.fs.workspace !== undefined || hasSessionDirectory;
  return tmpBytes + shmBytes + (isOnDisk ? 0 : policy.proc.diskBytes);
}

/** The supervisor, the parked copy and the intermediate process of a fork do not count against `proc.pids`. */
export const kernelProcesses = 3;

/** The setup of the kernel before it runs code. */
export function kernelSetup(
  policy: Policy,
  facts: ProcessFacts,
  python: PythonInstallation,
  hasCertificates: boolean,
): KernelSetup {
  return linuxKernelSetup(policy, {
    path: python.path,
    packages: python.mounts.find(({ target }) => target === packagesTarget)?.target,
    env: {
      ...(python.libraryPath === undefined ? {} : { LD_LIBRARY_PATH: python.libraryPath }),
      ...(policy.net.enabled && hasCertificates ? certificateVariables(insidePath.certificates) : {}),
    },
    ...(cgroupHolds(facts.cgroups, "memory")
      ? { watchSocketBytes: socketLimits(policy.proc.memoryBytes).watchBytes }
      : { watchMemoryBytes: policy.proc.memoryBytes + interpreterBytes }),
  });
}
