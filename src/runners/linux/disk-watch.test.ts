import { execFileSync } from "node:child_process";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { silentLogger } from "../../lib/logger.ts";
import type { Cell } from "../runner.ts";
import { watchDisk } from "./disk-watch.ts";

const mebibyte = 2 ** 20;

describe("the watch over a cell's directory", () => {
  let directory: string;
  let ended: boolean;
  let exit: () => void;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "cc-disk-"));
  });
  afterEach(async () => {
    exit();
    execFileSync("rm", ["-rf", directory]); // which goes deeper than a path can name
  });
  const watch = (limitBytes: number) => {
    ended = false;
    const exited = new Promise<void>((resolve) => {
      exit = resolve;
    });
    const end = async () => {
      ended = true;
      exit();
    };
    watchDisk(
      { id: "cell", exited, [Symbol.asyncDispose]: end } as unknown as Cell,
      directory,
      limitBytes,
      silentLogger,
    );
  };

  test("ends a cell that wrote more than it may", async () => {
    await writeFile(join(directory, "large"), Buffer.alloc(2 * mebibyte, 1));
    watch(mebibyte);
    await vi.waitFor(() => expect(ended).toBe(true));
  });

  test.each([
    ["empty files", "for n in range(4000): open('f%d' % n, 'w').close()"],
    ["directories", "import os\nfor n in range(4000): os.mkdir('d%d' % n)"],
    ["links", "import os\nfor n in range(4000): os.symlink('x', 'l%d' % n)"],
  ])("counts %s, of which a disk has only so many", async (_, code) => {
    execFileSync("python3", ["-c", code], { cwd: directory });
    watch(mebibyte);
    await vi.waitFor(() => expect(ended).toBe(true));
  });

  test("ends a cell that writes deeper than the host can name", async () => {
    const code = `import os
for _ in range(20):
    os.mkdir("d" * 250)
    os.chdir("d" * 250)
open("large", "wb").write(bytes(2 << 20))`;
    execFileSync("python3", ["-c", code], { cwd: directory });
    watch(mebibyte);
    await vi.waitFor(() => expect(ended).toBe(true));
  });
});
