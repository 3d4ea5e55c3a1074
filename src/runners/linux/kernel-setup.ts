import type { KernelSetup } from "../../kernel/messages.ts";
import type { Policy } from "../../policy/schema.ts";

/** What a runner adds to the setup that all runners on Linux share. */
export interface OwnSetup extends Pick<KernelSetup, "path" | "watchMemoryBytes" | "watchProcesses"> {
  /** variables of this runner; the policy's variables override them */
  readonly env?: Readonly<Record<string, string>>;
}

/** Pure: the setup of the kernel on Linux. */
export function linuxKernelSetup(policy: Policy, { env, ...own }: OwnSetup): KernelSetup {
  return {
    ...own,
    env: {
      PATH: "/usr/local/bin:/usr/bin:/bin",
      HOME: "/workspace",
      LANG: "C.UTF-8",
      MPLCONFIGDIR: "/tmp/matplotlib",
      XDG_CACHE_HOME: "/tmp/cache", // keeps caches of libraries out of the artifacts
      OPENBLAS_NUM_THREADS: "1",
      ...env,
      ...policy.env,
    },
    preload: policy.kernel.preload,
    background: policy.proc.background,
    recovery: policy.session.recovery !== "off",
  };
}
