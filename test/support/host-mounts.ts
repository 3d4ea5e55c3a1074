import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { inject } from "vitest";
import type { ContainersContext } from "../containers/setup.ts";

const run = promisify(execFile);

/** Mounting needs a capability that root in a container may lack. */
export const cannotMount = process.platform !== "linux" || !hasAdminRight(readFileSync("/proc/self/status", "utf8"));

function hasAdminRight(status: string): boolean {
  const rights = BigInt(`0x${/^CapEff:\s+([0-9a-f]+)$/m.exec(status)?.[1] ?? "0"}`);
  return (rights >> 21n) % 2n === 1n; // CAP_SYS_ADMIN
}

/** The parent of host directories in tests. Mounts below it are visible to the engines too. */
export const mountableDirectory = (inject("containers") as ContainersContext | undefined)?.mountable ?? tmpdir();

/** Mounts a tmpfs with these files at a path of the host. Everybody may write to it. */
export async function mountMemory(path: string, files: Readonly<Record<string, string>>): Promise<AsyncDisposable> {
  await mkdir(path, { recursive: true });
  await run("mount", ["-t", "tmpfs", "-o", "mode=777", "nested", path]);
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), text);
  }
  await run("chmod", ["--recursive", "a+rwX", path]);
  return { [Symbol.asyncDispose]: () => unmount(path) };
}

/** Shows a directory of the host under a second path. */
export async function bindMount(source: string, path: string): Promise<AsyncDisposable> {
  await run("mount", ["--bind", source, path]);
  return { [Symbol.asyncDispose]: () => unmount(path) };
}

/** Lazily, because a cell that is exiting may still use it. */
async function unmount(path: string): Promise<void> {
  await run("umount", ["--lazy", path]);
}
