import type { KernelSetup } from "../../kernel/messages.ts";
import type { Policy } from "../../policy/schema.ts";

/** Where libraries put their caches: not into the workspace, where they would be artifacts. */
const cacheDirectories = { MPLCONFIGDIR: "/tmp/matplotlib", XDG_CACHE_HOME: "/tmp/cache" } as const;

/** Pure: variables that libraries read when they are imported, for a process that imports them before a cell exists. */
export function preloadEnvironment({ env }: Policy): Record<string, string> {
  const names = Object.keys(cacheDirectories) as (keyof typeof cacheDirectories)[];
  return Object.fromEntries(names.map((name) => [name, env[name] ?? cacheDirectories[name]]));
}

/** What a runner adds to the setup that all runners on Linux share. */
export interface OwnSetup
  extends Pick<KernelSetup, "path" | "watchMemoryBytes" | "watchSocketBytes" | "watchTotalBytes" | "watchProcesses"> {
  /** variables of this runner; the policy's variables override them */
  readonly env?: Readonly<Record<string, string>>;
  /** where the packages are in the cell, for commands of theirs and for Pythons that programs start */
  readonly packages?: string | undefined;
}

/** Pure: the setup of the kernel on Linux. */
export function linuxKernelSetup(policy: Policy, { env, packages, ...own }: OwnSetup): KernelSetup {
  const path = env?.PATH ?? "/usr/local/bin:/usr/bin:/bin";
  return {
    ...own,
    env: {
      HOME: "/workspace",
      LANG: "C.UTF-8",
      ...cacheDirectories,
      OPENBLAS_NUM_THREADS: "1",
      ...env,
      PATH: packages === undefined ? path : `${packages}/bin:${path}`,
      ...(packages === undefined ? {} : { PYTHONPATH: packages }),
      ...policy.env,
    },
    preload: policy.kernel.preload,
    background: policy.proc.background,
    recovery: policy.session.recovery !== "off",
  };
}
