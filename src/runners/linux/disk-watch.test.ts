import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { silentLogger } from "../../lib/log/logger.ts";
import { type WatchedCell, watchDisk } from "./disk-watch.ts";

const mebibyte = 2 ** 20;

describe("the watch over a cell's directory", () => {
  let directory: string;
  let exit: () => void;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "cc-disk-"));
  });
  afterEach(() => {
    exit();
    execFileSync("rm", ["-rf", directory]); // which goes deeper than a path can name
  });
  /** Settles when the watch ends the cell, with what it says of it. */
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

  test("ends a cell that wrote more than it may", async () => {
    await writeFile(join(directory, "large"), Buffer.alloc(2 * mebibyte, 1));
    expect(await ending(mebibyte)).toBe("its files take more than proc.disk allows, 1MiB");
  });

  test.each([
    ["empty files", (path: string) => writeFile(path, "")],
    ["directories", (path: string) => mkdir(path)],
    ["links", (path: string) => symlink("x", path)],
  ])("counts %s, of which a disk has only so many", async (_, make) => {
    for (let count = 0; count < 300; count++) await make(join(directory, `entry-${count}`));
    await ending(mebibyte / 8);
  });

  test("ends a cell that writes deeper than the host can name", async () => {
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
