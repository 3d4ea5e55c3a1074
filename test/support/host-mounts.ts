import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { inject } from "vitest";
import type { ContainersContext } from "../containers/setup.ts";

const run = promisify(execFile);

/** Mounting takes a right that root in a container may lack. */
export const cannotMount = process.platform !== "linux" || !hasAdminRight(readFileSync("/proc/self/status", "utf8"));

function hasAdminRight(status: string): boolean {
  const rights = BigInt(`0x${/^CapEff:\s+([0-9a-f]+)$/m.exec(status)?.[1] ?? "0"}`);
  return (rights >> 21n) % 2n === 1n; // CAP_SYS_ADMIN
}

/** Where tests make directories of the host: what they mount below it reaches the engines too. */
export const mountableDirectory = (inject("containers") as ContainersContext | undefined)?.mountable ?? tmpdir();

/** A file system of its own at a path of the host, which everybody may write, with these files in it. */
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

/** Lazily: a cell that is on its way out may still hold it. */
async function unmount(path: string): Promise<void> {
  await run("umount", ["--lazy", path]);
}
