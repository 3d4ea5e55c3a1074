import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** Not the caller's PATH: these tools run as root. */
const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };
const timeoutMs = 60_000;

/** Runs a tool for file systems. Rejects with what it printed. */
export async function runTool(name: string, args: readonly string[]): Promise<void> {
  const limits = { env, cwd: "/", timeout: timeoutMs, killSignal: "SIGKILL" } as const;
  await promisify(execFile)(name, args, limits).catch((error: NodeJS.ErrnoException & { stderr?: string }) => {
    if (error.code === "ENOENT") throw new Error(`${name} is not installed`, { cause: error });
    const said = (error.stderr ?? "").trim().split("\n")[0];
    throw new Error(`${name}: ${said || error.message.split("\n")[0]}`, { cause: error });
  });
}
