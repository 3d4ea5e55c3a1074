import type { KernelSetup } from "../../../kernel/messages.ts";
import type { Policy } from "../../../policy/schema.ts";
import type { ImageKernel } from "../../images/image-kernel.ts";

/** Pure: what the kernel in a container is told when it starts. */
export function containerKernelSetup(policy: Policy, kernel: ImageKernel, hasOwnKernel: boolean): KernelSetup {
  return {
    env: {
      PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      HOME: "/workspace",
      LANG: "C.UTF-8",
      MPLCONFIGDIR: "/tmp/matplotlib",
      XDG_CACHE_HOME: "/tmp/cache", // what libraries cache is no artifact
      OPENBLAS_NUM_THREADS: "1",
      ...policy.env,
    },
    path: kernel.path,
    preload: policy.kernel.preload,
    background: policy.proc.background,
    recovery: policy.session.recovery !== "off",
    ...(hasOwnKernel ? { watchMemoryBytes: policy.proc.memoryBytes, watchProcesses: policy.proc.pids } : {}),
  };
}
