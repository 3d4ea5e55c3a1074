import { constants } from "node:fs";
import { mkdir, mkdtemp, readdir, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Directory } from "./directory.ts";

let base: string;

beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "codecell-directory-")));
  await mkdir(join(base, "root/dir"), { recursive: true });
  await mkdir(join(base, "outside"));
  await writeFile(join(base, "root/dir/file"), "good");
  await writeFile(join(base, "outside/file"), "CANARY");
});

afterEach(() => rm(base, { recursive: true, force: true }));

const modes = [...(process.platform === "linux" ? [true] : []), false];

describe.each(modes)("a directory (through its descriptor: %s)", (anchored) => {
  test("opens its entries, but no links", async () => {
    await symlink("dir", join(base, "root/link"));
    await symlink("file", join(base, "root/dir/link"));
    await using root = await Directory.open(join(base, "root"), { anchored });
    await using dir = await root.openDirectory("dir");
    const file = await dir.openFile("file", constants.O_RDONLY);
    expect((await file.readFile()).toString()).toBe("good");
    await file.close();
    await expect(root.openDirectory("link")).rejects.toThrow();
    await expect(dir.openFile("link", constants.O_RDONLY)).rejects.toThrow();
  });

  test("does not lead elsewhere after it was replaced by a link", async () => {
    await using root = await Directory.open(join(base, "root"), { anchored });
    await using dir = await root.openDirectory("dir");
    await rename(join(base, "root/dir"), join(base, "root/aside"));
    await symlink("../outside", join(base, "root/dir"));
    const file = await dir.openFile("file", constants.O_RDONLY).catch(() => undefined);
    // with a descriptor it is still the same directory; without one the swap is detected
    if (anchored) expect((await file?.readFile())?.toString()).toBe("good");
    else expect(file).toBeUndefined();
    await file?.close();
  });

  test.each(["", ".", "..", "a/b", "/", "a\0"])("has no entry called %j", async (name) => {
    await using root = await Directory.open(join(base, "root"), { anchored });
    expect(() => root.entry(name)).toThrow(expect.objectContaining({ code: "internal" }));
    await expect(root.openDirectory(name)).rejects.toThrow();
  });

  test("waits for pending opens when it is closed, so that its descriptor number is not reused", async () => {
    for (let round = 0; round < 200; round++) {
      const root = await Directory.open(join(base, "root"), { anchored });
      const opening = root.openDirectory("dir");
      const closing = root[Symbol.asyncDispose]();
      await using _taker = await Directory.open(join(base, "outside"), { anchored });
      await using dir = await opening;
      expect(await readdir(dir.path)).toEqual(["file"]);
      await closing;
    }
  });

  test("opens nothing after it is closed", async () => {
    const root = await Directory.open(join(base, "root"), { anchored });
    await root[Symbol.asyncDispose]();
    await root[Symbol.asyncDispose]();
    await expect(root.openDirectory("dir")).rejects.toThrow("closed");
  });
});
