import { execFile } from "node:child_process";
import {
  appendFile,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  statfs,
  truncate,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { removeDiskLeftovers } from "./disk-leftovers.ts";
import { imageDisk } from "./image-disk.ts";
import { tryImages } from "./image-support.ts";
import { disksOf, findDisk, pinDisk, releaseDisk, removeDisk } from "./session-disk.ts";
import { SessionDisks } from "./session-disks.ts";

const MiB = 2 ** 20;
const directory = await mkdtemp(join(tmpdir(), "codecell-disks-"));
const support = await tryImages(directory);
const title = support.isAvailable ? "disks of sessions" : `disks of sessions (skipped: ${support.reason})`;

afterAll(() => rm(directory, { recursive: true, force: true }));

describe.skipIf(!support.isAvailable)(title, () => {
  let disks: SessionDisks;
  let root: string;
  const closed = async () => false;
  const left = async () => (await readdir(disksOf(root))).sort();
  const mounted = async () =>
    (await readFile("/proc/mounts", "utf8")).split("\n").filter((line) => line.includes(root));

  beforeAll(async () => {
    await mkdir(join(directory, "made"));
  });

  async function begin(options = { isForOneCell: true }) {
    root = await mkdtemp(join(directory, "made", "w"));
    disks = new SessionDisks(options);
  }

  afterEach(async () => {
    await disks[Symbol.asyncDispose]();
    for (const name of await readdir(root)) await removeDisk({ root, name });
    expect(await mounted()).toEqual([]);
  });

  test.each([1, 8, 256, 3000])("a disk of %i MiB has room for that and not for more, and is empty", async (size) => {
    await begin();
    const pinned = await disks.open({ root, name: "a" }, size * MiB);
    const { bavail, bsize } = await statfs(pinned.directory);
    expect(bavail * bsize).toBeLessThanOrEqual(size * MiB);
    expect(bavail * bsize).toBeGreaterThanOrEqual(size * MiB - 64 * 4096);
    expect(await readdir(pinned.directory)).toEqual([]);
    // sparse: what is not written takes no space on the host
    expect((await lstat(`${pinned.directory}.img`)).blocks * 512).toBeLessThan(2 * MiB);
    await pinned.letGo();
  });

  test("files stay when a disk is unmounted, and come back with the next start", async () => {
    await begin();
    const first = await disks.open({ root, name: "a" }, 4 * MiB);
    await writeFile(join(first.directory, "kept"), "text");
    await first.letGo();
    await releaseDisk({ root, name: "a" });
    expect(await mounted()).toEqual([]);
    const again = await disks.open({ root, name: "a" }, 4 * MiB);
    expect(again.directory).toBe(first.directory);
    expect(await readFile(join(root, "a", "kept"), "utf8")).toBe("text");
    await again.letGo();
  });

  test("a disk that somebody uses is not unmounted", async () => {
    await begin();
    const first = await disks.open({ root, name: "a" }, 4 * MiB);
    const reader = await pinDisk({ root, name: "a" });
    await first.letGo();
    await releaseDisk({ root, name: "a" });
    expect(await mounted()).toHaveLength(1);
    await reader?.letGo();
    await releaseDisk({ root, name: "a" });
    expect(await mounted()).toEqual([]);
  });

  test("a session that was saved under another limit, or in a directory, keeps its files", async () => {
    await begin();
    await mkdir(join(root, "a"));
    await writeFile(join(root, "a", "kept"), Buffer.alloc(MiB, 7));
    for (const size of [8, 4, 16]) {
      const pinned = await disks.open({ root, name: "a" }, size * MiB);
      expect((await readFile(join(root, "a", "kept"))).equals(Buffer.alloc(MiB, 7))).toBe(true);
      expect(await imageDisk(pinned.directory).leftBytes()).toBeLessThanOrEqual((size - 1) * MiB);
      await pinned.letGo();
    }
    expect(await mounted()).toHaveLength(1);
    expect(await readdir(root)).toEqual(["a"]);
  });

  test("a session whose files do not fit is refused by name, and keeps them", async () => {
    await begin();
    await mkdir(join(root, "a"));
    await writeFile(join(root, "a", "large"), Buffer.alloc(3 * MiB, 7));
    const opening = disks.open({ root, name: "a" }, 2 * MiB);
    await expect(opening).rejects.toMatchObject({ code: "cell_start_failed" });
    await expect(opening).rejects.toThrow("proc.disk (2MiB)");
    expect(await readdir(join(root, "a"))).toEqual(["large"]);
    expect(await mounted()).toEqual([]);
    await rm(join(root, "a"), { recursive: true });
  });

  test("the next disk is prepared ahead, and removed if no session takes it", async () => {
    await begin({ isForOneCell: false });
    const first = await disks.open({ root, name: "a" }, 4 * MiB);
    await first.letGo();
    await expect.poll(async () => (await mounted()).length).toBe(2);
    const second = await disks.open({ root, name: "b" }, 4 * MiB);
    await second.letGo();
    expect(await mounted()).toHaveLength(2); // it took the spare
    await disks[Symbol.asyncDispose]();
    expect(await mounted()).toHaveLength(2);
    for (const name of ["a", "b"]) expect(await findDisk({ root, name })).toBeDefined();
  });

  test("what a killed process left is removed or unmounted, and disks of saved sessions keep their files", async () => {
    await begin();
    for (const name of ["saved", "open", "gone"]) {
      const pinned = await disks.open({ root, name }, 4 * MiB);
      await writeFile(join(pinned.directory, "kept"), name);
      await pinned.letGo();
    }
    await rm(join(root, "gone")); // killed after it had made the disk
    await removeDiskLeftovers(root, closed);
    expect(await mounted()).toHaveLength(3); // its owner runs
    await disks[Symbol.asyncDispose]();
    await removeDiskLeftovers(root, async (name) => name === "open");
    expect(await mounted()).toHaveLength(1);
    expect((await left()).filter((name) => name.endsWith(".img"))).toHaveLength(2);
    const reader = await pinDisk({ root, name: "saved" });
    expect(await readFile(join(root, "saved", "kept"), "utf8")).toBe("saved");
    await reader?.letGo();
  });

  test("a move of files that a killed process began is finished or undone", async () => {
    await begin();
    const pinned = await disks.open({ root, name: "moved" }, 4 * MiB);
    await pinned.letGo();
    await mkdir(join(root, "moved.old"));
    await mkdir(join(root, "not-yet.old"));
    await writeFile(join(root, "not-yet.old", "kept"), "text");
    await removeDiskLeftovers(root, closed);
    expect((await readdir(root)).sort()).toEqual(["moved", "not-yet"]);
    expect(await readFile(join(root, "not-yet", "kept"), "utf8")).toBe("text");
    await rm(join(root, "not-yet"), { recursive: true });
  });

  test("a disk that was mounted when the machine crashed is repaired before it is mounted", async () => {
    await begin();
    const pinned = await disks.open({ root, name: "a" }, 4 * MiB);
    await writeFile(join(pinned.directory, "kept"), "text");
    await promisify(execFile)("sync", ["-f", pinned.directory]);
    // what is on the disk now is what a crash would leave
    await promisify(execFile)("cp", ["--sparse=always", `${pinned.directory}.img`, join(root, "..", "crashed")]);
    await pinned.letGo();
    await releaseDisk({ root, name: "a" });
    await truncate(`${pinned.directory}.img`, 0);
    await appendFile(`${pinned.directory}.img`, await readFile(join(root, "..", "crashed")));
    const again = await pinDisk({ root, name: "a" });
    expect(await readFile(join(root, "a", "kept"), "utf8")).toBe("text");
    await again?.letGo();
    await rm(join(root, "..", "crashed"));
  });
});

test("an ordinary user is told why sessions have no disk of their own", async () => {
  const { getuid } = process;
  Object.defineProperty(process, "getuid", { value: () => 1000, configurable: true });
  try {
    expect(await tryImages(directory)).toMatchObject({
      isAvailable: false,
      reason: expect.stringContaining("only root"),
    });
  } finally {
    Object.defineProperty(process, "getuid", { value: getuid, configurable: true });
  }
});
