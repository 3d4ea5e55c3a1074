import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { silentLogger } from "../../lib/log/logger.ts";
import { type WatchedCell, watchDisk } from "./disk-watch.ts";

const mebibyte = 2 ** 20;

describe("watchDisk", () => {
  let directory: string;
  let exit: () => void;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "cc-disk-"));
  });
  afterEach(() => {
    exit();
    execFileSync("rm", ["-rf", directory]); // works on paths that are too long for Node
  });
  /** Settles with the reason when the cell is ended. */
  const ending = (limitBytes: number) =>
    new Promise<string>((resolve) => {
      const exited = new Promise<void>((settle) => {
        exit = settle;
      });
      const endFor: WatchedCell["endFor"] = async ({ message }) => {
        exit();
        resolve(message);
      };
      const cell = { id: "cell", exited, endFor } as unknown as WatchedCell;
      watchDisk(cell, directory, limitBytes, silentLogger);
    });

  test("ends a cell whose files exceed the limit", async () => {
    await writeFile(join(directory, "large"), Buffer.alloc(2 * mebibyte, 1));
    expect(await ending(mebibyte)).toBe("its files exceed proc.disk (1MiB)");
  });

  test.each([
    ["empty files", (path: string) => writeFile(path, "")],
    ["directories", (path: string) => mkdir(path)],
    ["symlinks", (path: string) => symlink("x", path)],
  ])("counts %s, which use up the disk's inodes", async (_, make) => {
    for (let count = 0; count < 300; count++) await make(join(directory, `entry-${count}`));
    await ending(mebibyte / 8);
  });

  test("ends a cell that writes files at paths too long for the host", async () => {
    const code = `const fs = require("node:fs");
for (let depth = 0; depth < 20; depth++) {
  fs.mkdirSync("d".repeat(250));
  process.chdir("d".repeat(250));
}
fs.writeFileSync("large", Buffer.alloc(2 << 20));`;
    execFileSync(process.execPath, ["-e", code], { cwd: directory });
    await ending(mebibyte);
  });
});
