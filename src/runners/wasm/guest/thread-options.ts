import type { WorkerOptions } from "node:worker_threads";

/** Options of the interpreter's thread. It has no `execArgv`, which would drop the hardening flags of the process. */
export const threadOptions: WorkerOptions = {
  env: {},
  stdout: true, // stays in the thread; by default it would go to the process's stdout, which is the cell's channel
  stderr: true,
  trackUnmanagedFds: false,
  resourceLimits: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
};
