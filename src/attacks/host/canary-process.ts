import { spawn } from "node:child_process";
import { once } from "node:events";

/** A process of the host that no cell may see or end. */
export interface CanaryProcess extends AsyncDisposable {
  readonly pid: number;
  readonly isAlive: boolean;
}

/** It waits for its standard input, so it ends with this process even if that is killed. `mark` is in its command line. */
export async function startCanaryProcess(mark: string, env: Record<string, string>): Promise<CanaryProcess> {
  // A group of its own: Ctrl-C in a terminal must not look like an attack.
  const child = spawn("/bin/sh", ["-c", "read line", mark], {
    stdio: ["pipe", "ignore", "ignore"],
    env,
    detached: true,
  });
  await once(child, "spawn");
  const exited = once(child, "exit");
  child.unref();
  return {
    pid: child.pid ?? 0,
    get isAlive() {
      return child.exitCode === null && child.signalCode === null;
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await exited;
    },
  };
}
