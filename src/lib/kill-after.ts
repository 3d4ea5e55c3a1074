import type { ChildProcess } from "node:child_process";

/**
 * Kills a child that runs for longer. The `timeout` of `spawn` does the same, but its timer keeps this process alive if the program
 * cannot be started.
 */
export function killAfter(child: ChildProcess, limitMs: number, signal: NodeJS.Signals = "SIGTERM"): void {
  const timer = setTimeout(() => child.kill(signal), limitMs);
  for (const end of ["exit", "error"]) child.once(end, () => clearTimeout(timer));
}
