import { type ChildProcess, spawn } from "node:child_process";

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Surroundings {
  readonly cwd?: string;
  /** the whole environment of the program */
  readonly env: Record<string, string>;
}

/** Runs one command until it exits, for at most three minutes. */
export function runToEnd(command: string, args: readonly string[], surroundings: Surroundings): Promise<Ended> {
  return startProgram(command, args, surroundings).ended;
}

/** The same for a caller that wants to send it a signal. */
export function startProgram(
  command: string,
  args: readonly string[],
  surroundings: Surroundings,
): { readonly child: ChildProcess; readonly ended: Promise<Ended> } {
  const child = spawn(command, args, {
    ...surroundings,
    ...{ stdio: ["ignore", "pipe", "pipe"], timeout: 170_000, killSignal: "SIGKILL" },
  });
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (bytes) => {
    stdout += bytes;
  });
  child.stderr?.on("data", (bytes) => {
    stderr += bytes;
  });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stdout, stderr }));
  });
  return { child, ended };
}
