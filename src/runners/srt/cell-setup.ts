import { stat } from "node:fs/promises";
import { availableParallelism } from "node:os";
import type { KernelSetup } from "../../kernel/messages.ts";
import type { Policy } from "../../policy/schema.ts";
import { isDiskExact, largestFileBytes } from "../disk-rule.ts";
import { linuxKernelSetup } from "../linux/kernel-setup.ts";
import type { CellMount } from "../linux/mounts/mounts.ts";
import { interpreterBytes, someCores } from "../linux/rlimits.ts";
import { seccompFilter } from "../linux/seccomp/seccomp.ts";
import type { FilterArch } from "../linux/seccomp/syscalls.ts";
import type { PythonOnHost, SrtCellConfig } from "./cell-command.ts";

/** The supervisor is the only child of the first process in the cell's pid namespace, which belongs to srt. */
const supervisorPid = 2;

export interface CellSetupParts {
  readonly policy: Policy;
  readonly workspace: string;
  readonly mounts: readonly CellMount[];
  readonly arch: FilterArch;
  /** the filter that reports signals to the supervisor */
  readonly guard: Buffer;
}

/** The configuration that the supervisor applies before anything else runs. */
export async function srtCellConfig({
  policy,
  workspace,
  mounts,
  arch,
  guard,
}: CellSetupParts): Promise<SrtCellConfig> {
  const { proc } = policy;
  const { dev, ino } = await stat(workspace, { bigint: true });
  // srt limits neither memory nor processors, and does not isolate the host's message queues
  const filter = seccompFilter({
    ...{ arch, phase: "cell", supervisorPid },
    ...{ allowMemfd: false, fixesBuffers: true, allowAffinity: false, sharesIpc: true },
    allowFallocate: isDiskExact(policy),
  });
  return {
    workspace,
    identities: [
      { path: workspace, identity: `${dev}:${ino}` },
      ...mounts.map(({ source, identity }) => ({ path: source, identity })),
    ],
    denied: mounts.flatMap(({ source, deny }) =>
      deny.filter(({ kind }) => kind === "directory").map(({ path }) => `${source}/${path}`),
    ),
    files: proc.files,
    diskBytes: proc.diskBytes,
    fileBytes: largestFileBytes(policy),
    nprocLimit: proc.pids,
    dataLimit: proc.memoryBytes,
    affinity: someCores(proc.cpus, availableParallelism()),
    filter: filter.toString("hex"),
    guard: guard.toString("hex"),
  };
}

/** Pure: the setup of the kernel before it runs code. */
export function srtKernelSetup(
  policy: Policy,
  python: PythonOnHost,
  workspace: string,
  packages: string | undefined,
): KernelSetup {
  return linuxKernelSetup(policy, {
    path: python.path,
    packages,
    env: {
      HOME: workspace,
      TMPDIR: "/tmp",
      ...(python.libraryPath === undefined ? {} : { LD_LIBRARY_PATH: python.libraryPath }),
    },
    watchMemoryBytes: policy.proc.memoryBytes + interpreterBytes,
  });
}
