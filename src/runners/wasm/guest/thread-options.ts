import type { WorkerOptions } from "node:worker_threads";

/** How the interpreter's thread starts. No `execArgv`: a list of its own would leave out the process's hardening flags. */
export const threadOptions: WorkerOptions = {
  env: {},
  trackUnmanagedFds: false,
  resourceLimits: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
};
