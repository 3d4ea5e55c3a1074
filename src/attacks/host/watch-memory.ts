import type { StartHostCheck } from "./host-check.ts";

/** More than any one run may cost this process, whatever it prints or sends. */
const allowedBytes = 256 * 2 ** 20;
const sampleMs = 100;

/** Sees this process grow while an attack runs. */
export const watchMemory: StartHostCheck = async () => {
  const before = process.memoryUsage.rss();
  let most = before;
  const sample = () => {
    most = Math.max(most, process.memoryUsage.rss());
  };
  const timer = setInterval(sample, sampleMs);
  return async () => {
    clearInterval(timer);
    sample();
    const grownMiB = Math.round((most - before) / 2 ** 20);
    return most - before > allowedBytes ? `the host process grew by ${grownMiB} MiB` : undefined;
  };
};
