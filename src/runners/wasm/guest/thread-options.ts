import type { WorkerOptions } from "node:worker_threads";

/** How the interpreter's thread starts. No `execArgv`: a list of its own would leave out the process's hardening flags. */
export const threadOptions: WorkerOptions = {
  env: {},
  stdout: true, // kept in the thread: by default it would end up on the process's own, which is the cell's channel
  stderr: true,
  trackUnmanagedFds: false,
  resourceLimits: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
};
