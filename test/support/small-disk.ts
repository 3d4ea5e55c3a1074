import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const isRoot = process.getuid?.() === 0;
const unshare = ["--mount", "--propagation", "private", ...(isRoot ? [] : ["--map-root-user"])];

/** Why this machine cannot mount a small file system; undefined: it can. */
export const noSmallDisk: string | undefined =
  process.platform === "linux" && spawnSync("unshare", [...unshare, "true"]).status === 0
    ? undefined
    : "needs a mount namespace";

/** A small real file system in its own mount namespace, which nothing else on the machine sees. */
export async function smallDisk(size: string): Promise<AsyncDisposable & { readonly path: string }> {
  const place = await mkdtemp(join(tmpdir(), "codecell-disk-"));
  const script = `mount -t tmpfs -o size=${size},mode=0700 tmpfs "$1" && echo ready && exec cat`;
  const keeper: ChildProcess = spawn("unshare", [...unshare, "sh", "-c", script, "sh", place], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(keeper, "close");
  await Promise.race([once(keeper.stdout ?? keeper, "data"), ended]);
  return {
    path: `/proc/${keeper.pid}/root${place}`,
    async [Symbol.asyncDispose]() {
      keeper.stdin?.end();
      await ended;
      await rmdir(place).catch(() => rm(place, { recursive: true, force: true }));
    },
  };
}
