import { spawn } from "node:child_process";

const keptBytes = 16 * 1024;

/**
 * Runs a command to its end. Fails with the end of what it printed.
 * @param {readonly string[]} command
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, timeoutMs?: number, input?: string }} [options]
 * @returns {Promise<string>} its standard output
 */
export function run([program, ...argv], { cwd, env, timeoutMs = 60_000, input } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, argv, {
      ...(cwd ? { cwd } : {}),
      ...(env ? { env } : {}),
      stdio: ["pipe", "pipe", "pipe"],
      timeout: timeoutMs,
      killSignal: "SIGKILL",
    });
    let stdout = "";
    let last = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      stdout += text;
      last = (last + text).slice(-keptBytes);
    });
    child.stderr.setEncoding("utf8").on("data", (text) => {
      last = (last + text).slice(-keptBytes);
    });
    child.stdin.on("error", () => {}); // it may exit without reading
    child.stdin.end(input);
    child.on("error", reject);
    child.on("close", (code, signal) => {
      if (code === 0) return resolve(stdout);
      const ending = signal ? `was killed by ${signal} (limit: ${timeoutMs / 1000} s)` : `exited with ${code}`;
      reject(new Error(`${[program, ...argv].join(" ")} ${ending}\n${last.trimEnd()}`));
    });
  });
}
