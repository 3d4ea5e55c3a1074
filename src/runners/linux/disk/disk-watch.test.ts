import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { silentLogger } from "../../../lib/log/logger.ts";
import { DiskWatch, type WatchedCell } from "./disk-watch.ts";

const mebibyte = 2 ** 20;
const exceeded = "its files exceed proc.disk (1MiB)";

describe("DiskWatch", () => {
  let directory: string;
  let exit = () => {};
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "cc-disk-"));
  });
  afterEach(() => {
    exit();
    execFileSync("rm", ["-rf", directory]); // works on paths that are too long for Node
  });
  const fill = (name: string, size: number) => writeFile(join(directory, name), Buffer.alloc(size, 1));

  /** Watches a new cell. `ended` settles with the reason when the cell is ended. */
  async function watched(limitBytes = mebibyte) {
    const watch = await DiskWatch.open(directory, limitBytes, silentLogger);
    const exited = new Promise<void>((settle) => {
      exit = settle;
    });
    const ended = new Promise<string>((resolve) => {
      const endFor: WatchedCell["endFor"] = async ({ message }) => {
        exit();
        resolve(message);
      };
      watch.watch({ id: "cell", exited, endFor } as unknown as WatchedCell);
    });
    return { watch, ended };
  }

  test("ends a cell whose files exceed the limit", async () => {
    const { watch, ended } = await watched();
    await fill("large", 2 * mebibyte);
    expect(await ended).toBe(exceeded);
    expect(watch.isWithinLimit).toBe(false);
    expect(await watch.afterRun(true)).toMatchObject({
      isEnded: true,
      notes: [exceeded, "delete files in code"],
    });
  });

  test("a run that ends while its cell is being ended waits until the cell has exited", async () => {
    const watch = await DiskWatch.open(directory, mebibyte, silentLogger);
    const order: string[] = [];
    let hasExited = () => {};
    const exited = new Promise<void>((settle) => {
      hasExited = settle;
    });
    const asked = new Promise<void>((resolve) => {
      const endFor: WatchedCell["endFor"] = () => {
        resolve();
        return exited;
      };
      watch.watch({ id: "cell", exited, endFor } as unknown as WatchedCell);
    });
    await fill("large", 2 * mebibyte);
    await asked;
    const found = watch.afterRun(true).then(({ isEnded }) => order.push(`found: ${isEnded}`));
    await setImmediate();
    order.push("exited");
    hasExited();
    await found;
    expect(order).toEqual(["exited", "found: true"]);
  });

  test.each([
    ["empty files", (path: string) => writeFile(path, "")],
    ["directories", (path: string) => mkdir(path)],
    ["symlinks", (path: string) => symlink("x", path)],
  ])("counts %s, which use up the disk's inodes", async (_, make) => {
    const { ended } = await watched(mebibyte / 8);
    for (let count = 0; count < 300; count++) await make(join(directory, `entry-${count}`));
    await ended;
  });

  test("ends a cell that writes files at paths too long for the host", async () => {
    const { ended } = await watched();
    const code = `const fs = require("node:fs");
for (let depth = 0; depth < 20; depth++) {
  fs.mkdirSync("d".repeat(250));
  process.chdir("d".repeat(250));
}
fs.writeFileSync("large", Buffer.alloc(2 << 20));`;
    execFileSync(process.execPath, ["-e", code], { cwd: directory });
    await ended;
  });

  test("a directory that is over the limit at the start is tolerated, and growth ends the cell", async () => {
    await fill("large", 2 * mebibyte);
    const { watch, ended } = await watched();
    expect(watch.isReadOnly).toBe(false);
    expect(watch.isWithinLimit).toBe(false);
    const { isEnded, notes } = await watch.afterRun(false);
    expect(isEnded).toBe(false);
    expect(notes).toEqual([
      "the workspace holds more than proc.disk (1MiB); delete files in code. A run that writes more is ended, and its variables are lost",
    ]);
    await fill("more", mebibyte / 2);
    expect(await ended).toBe(exceeded);
  });

  test("says nothing once enough is deleted, and the limit holds again", async () => {
    await fill("large", 2 * mebibyte);
    const { watch, ended } = await watched();
    await rm(join(directory, "large"));
    expect(await watch.afterRun(true)).toEqual({ isEnded: false, notes: [] });
    expect(watch.isWithinLimit).toBe(true);
    await fill("large", mebibyte * 1.5);
    expect(await ended).toBe(exceeded);
  });

  test("what a run wrote beyond the limit just before its end is tolerated once", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout"] }); // the run ends before the watch looks again
    onTestFinished(() => void vi.useRealTimers());
    const { watch } = await watched();
    await fill("a", 2 * mebibyte);
    expect(await watch.afterRun(true)).toMatchObject({
      isEnded: false,
      notes: [expect.stringMatching("more than proc.disk")],
    });
    await fill("b", mebibyte);
    expect(await watch.afterRun(true)).toMatchObject({ isEnded: true });
  });

  test("a directory far over the limit is read-only, until its files fit again", async () => {
    execFileSync("fallocate", ["--length", `${260 * mebibyte}`, join(directory, "huge")]); // takes the space without writing it
    const { watch, ended } = await watched();
    expect(watch.isReadOnly).toBe(true);
    const { isEnded, notes } = await watch.afterRun(false);
    expect(isEnded).toBe(false);
    const ways = [
      "session.removeFile",
      "upload_file with delete=true over MCP",
      "DELETE over HTTP",
      "if the session is saved",
    ];
    for (const way of ways) expect(notes.join()).toContain(way);
    expect(notes).toEqual([expect.stringMatching("read-only; delete files from outside")]);
    await rm(join(directory, "huge"));
    expect(await watch.afterRun(true)).toMatchObject({ isEnded: true });
    expect(await ended).toBe("its files fit proc.disk again: the next run starts in a cell that can write");
  });

  test("says how much is left", async () => {
    const { watch } = await watched();
    expect(await watch.leftBytes()).toBe(mebibyte);
    await fill("half", mebibyte / 2);
    expect(await watch.leftBytes()).toBe(mebibyte / 2);
    expect(await watch.usedBytes()).toBe(mebibyte / 2);
    await fill("rest", mebibyte / 2 + 8192);
    expect(await watch.leftBytes()).toBe(0);
  });
});
