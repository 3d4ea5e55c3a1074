import { Codecell, parsePolicy } from "../dist/index.js";
import { processRunner } from "../dist/runners/process/runner.js";

/** A codecell on the process runner, for measuring. */
export function openProcess(policy = {}, options = {}) {
  return Codecell.open({ policy: parsePolicy(policy), runners: [processRunner(options)] });
}
