import { lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test as everywhere, expect, onTestFinished } from "vitest";
import { finishMove, moveFiles } from "./move-files.ts";
import { runTool } from "./run-tool.ts";

const test = everywhere.skipIf(process.platform !== "linux");

/** A session with one file in a directory, and an empty disk for it. */
async function begin() {
  const root = await mkdtemp(join(tmpdir(), "codecell-move-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const path = join(root, "work");
  const disk = { image: join(root, "disks", "work.img"), directory: join(root, "disks", "work") };
  await mkdir(path);
  await mkdir(disk.directory, { recursive: true });
  await writeFile(join(path, "data.csv"), "1,2");
  return { root, path, disk };
}

test("files that cannot be synced to a disk of their own stay where they are", async () => {
  const { root, path, disk } = await begin();
  const run = async (name: string, args: readonly string[]) => {
    if (name === "sync") throw new Error("sync: Input/output error");
    await runTool(name, args);
  };
  const moving = moveFiles({ root, name: "work" }, undefined, disk, 1024, { run });
  await expect(moving).rejects.toMatchObject({ code: "disk_failed", hint: expect.stringContaining("unchanged") });
  expect((await lstat(path)).isDirectory()).toBe(true);
  expect(await readFile(join(path, "data.csv"), "utf8")).toBe("1,2");
  expect((await readdir(root)).sort()).toEqual(["disks", "work"]);
});

test("files are removed from their old place only after the new disk is synced", async () => {
  const { root, path, disk } = await begin();
  const steps: string[] = [];
  const run = async (name: string, args: readonly string[]) => {
    steps.push(`${name}, ${(await lstat(path)).isDirectory() ? "originals in place" : "moved"}`);
    await runTool(name, args);
  };
  await moveFiles({ root, name: "work" }, undefined, disk, 1024, { run });
  expect(steps).toEqual(["cp, originals in place", "sync, originals in place"]);
  expect((await lstat(path)).isSymbolicLink()).toBe(true);
  expect(await readFile(join(path, "data.csv"), "utf8")).toBe("1,2");
});

test("once a session has its new disk, a failing sync leaves the old files beside it and does not fail the move", async () => {
  const { root, path, disk } = await begin();
  const sync = async () => {
    throw new Error("too many open files");
  };
  await moveFiles({ root, name: "work" }, undefined, disk, 1024, { sync });
  expect((await lstat(path)).isSymbolicLink()).toBe(true);
  expect(await readFile(join(path, "data.csv"), "utf8")).toBe("1,2");
  expect((await readdir(root)).sort()).toEqual(["disks", "work", "work.old"]);
  await finishMove(root, "work.old");
  expect((await readdir(root)).sort()).toEqual(["disks", "work"]);
  expect(await readFile(join(path, "data.csv"), "utf8")).toBe("1,2");
});

test("old files beside a link to a disk that is gone become the session's again", async () => {
  const { root, path, disk } = await begin();
  await rename(path, `${path}.old`);
  await symlink(disk.directory, path);
  await rm(disk.directory, { recursive: true });
  await finishMove(root, "work.old");
  expect(await readFile(join(path, "data.csv"), "utf8")).toBe("1,2");
});
