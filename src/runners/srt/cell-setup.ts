import { stat } from "node:fs/promises";
import { availableParallelism } from "node:os";
import type { KernelSetup } from "../../kernel/messages.ts";
import type { Policy } from "../../policy/schema.ts";
import { linuxKernelSetup } from "../linux/kernel-setup.ts";
import type { CellMount } from "../linux/mounts.ts";
import { interpreterBytes, someCores } from "../linux/rlimits.ts";
import { seccompFilter } from "../linux/seccomp.ts";
import type { FilterArch } from "../linux/syscalls.ts";
import type { PythonOnHost, SrtCellConfig } from "./cell-command.ts";

/** The one child of the first process that srt puts into the cell's pid namespace. */
const supervisorPid = 2;

export interface CellSetupParts {
  readonly policy: Policy;
  readonly workspace: string;
  readonly mounts: readonly CellMount[];
  readonly arch: FilterArch;
  /** the filter that reports signals */
  readonly guard: Buffer;
}

/** What the cell's supervisor sets up before anything else runs. */
export async function srtCellConfig({
  policy,
  workspace,
  mounts,
  arch,
  guard,
}: CellSetupParts): Promise<SrtCellConfig> {
  const { proc } = policy;
  const { dev, ino } = await stat(workspace, { bigint: true });
  // nothing else holds memory and processors, and the host's message queues are in reach
  const filter = seccompFilter({
    ...{ arch, phase: "cell", supervisorPid },
    ...{ allowMemfd: false, allowAffinity: false, sharesIpc: true },
  });
  return {
    workspace,
    identities: [
      { path: workspace, identity: `${dev}:${ino}` },
      ...mounts.map(({ source, identity }) => ({ path: source, identity })),
    ],
    files: proc.files,
    diskBytes: proc.diskBytes,
    nprocLimit: proc.pids,
    dataLimit: proc.memoryBytes,
    affinity: someCores(proc.cpus, availableParallelism()),
    filter: filter.toString("hex"),
    guard: guard.toString("hex"),
  };
}

/** Pure: what the kernel is told before it runs code. */
export function srtKernelSetup(policy: Policy, python: PythonOnHost, workspace: string): KernelSetup {
  return linuxKernelSetup(policy, {
    path: python.path,
    env: {
      HOME: workspace,
      TMPDIR: "/tmp",
      ...(python.libraryPath === undefined ? {} : { LD_LIBRARY_PATH: python.libraryPath }),
    },
    watchMemoryBytes: policy.proc.memoryBytes + interpreterBytes,
  });
}
