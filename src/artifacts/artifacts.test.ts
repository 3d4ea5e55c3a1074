import { createHash } from "node:crypto";
import { appendFile, mkdir, mkdtemp, realpath, rm, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as passed } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cpuMsOf } from "../../test/support/cpu-time.ts";
import { type ChangedFile, describeArtifacts } from "./artifacts.ts";
import { HashCache } from "./hash-cache.ts";
import { openWorkspaceFiles, type WorkspaceFiles } from "./workspace-files.ts";

let base: string;
let root: string;
let files: WorkspaceFiles;
const changed = (...paths: string[]): ChangedFile[] => paths.map((path) => ({ path, size: 1, modifiedMs: 1 }));
const sha256 = (data: string | Uint8Array) => createHash("sha256").update(data).digest("hex");

beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "codecell-artifacts-")));
  root = join(base, "workspace");
  await mkdir(root);
  files = await openWorkspaceFiles(root);
});

afterEach(async () => {
  await files[Symbol.asyncDispose]();
  await rm(base, { recursive: true, force: true });
});

test("an artifact is described by what the host finds, not by what the cell reports", async () => {
  await mkdir(join(root, "plots"));
  await writeFile(join(root, "plots/a.png"), "\x89PNG\r\n\x1a\nrest", "latin1");
  await writeFile(join(root, "empty.txt"), "");
  await utimes(join(root, "empty.txt"), 1_700_000_000, 1_700_000_000);
  const { artifacts, leftOut } = await describeArtifacts(files, changed("plots/a.png", "empty.txt"), {}, { run: 7 });
  expect(leftOut).toEqual([]);
  expect(artifacts).toEqual([
    {
      ...{ name: "plots/a.png", size: 12, mimeType: "image/png", modifiedMs: expect.any(Number), run: 7 },
      sha256: sha256(Buffer.from("\x89PNG\r\n\x1a\nrest", "latin1")),
    },
    {
      ...{ name: "empty.txt", size: 0, mimeType: "text/plain; charset=utf-8", modifiedMs: 1_700_000_000_000, run: 7 },
      sha256: sha256(""),
    },
  ]);
});

test("a changed path that is not a regular file of the workspace is left out, with a reason", async () => {
  await writeFile(join(base, "canary"), "CANARY");
  await symlink("../canary", join(root, "link"));
  await symlink("..", join(root, "up"));
  await mkdir(join(root, "dir"));
  await writeFile(join(root, ".env"), "SECRET=1");
  const hostile = ["link", "up/canary", "../canary", "dir", "gone", "a\nb", "/etc/passwd", ".env"];
  const { artifacts, leftOut, leftOutCount } = await describeArtifacts(files, changed(...hostile));
  expect(artifacts).toEqual([]);
  expect(leftOut.map(({ name, reason }) => [name, reason])).toEqual([
    ["link", "refused"],
    ["up/canary", "refused"],
    ["../canary", "bad_name"],
    ["dir", "refused"],
    ["gone", "missing"],
    ["a\ufffdb", "bad_name"],
    ["/etc/passwd", "bad_name"],
    [".env", "refused"],
  ]);
  expect(leftOutCount).toBe(hostile.length);
});

test("a malformed list of changes from the cell is handled safely", async () => {
  const hostile = [{ path: 7 }, { path: null }, {}, { path: "x".repeat(1e6) }] as unknown as ChangedFile[];
  const { leftOut } = await describeArtifacts(files, hostile);
  expect(leftOut.map(({ reason }) => reason)).toEqual(["bad_name", "bad_name", "bad_name", "bad_name"]);
  expect(JSON.stringify(leftOut).length).toBeLessThan(2000);
});

test("artifacts are limited in count, size and total size, and files over a limit are not read", async () => {
  for (const name of ["a", "b", "c", "d"]) await writeFile(join(root, name), "12345");
  await writeFile(join(root, "sparse"), "");
  await truncate(join(root, "sparse"), 2 ** 40);
  const reasons = async (limits: Parameters<typeof describeArtifacts>[2], ...names: string[]) => {
    const { artifacts, leftOut } = await describeArtifacts(files, changed(...names), limits);
    return [artifacts.map(({ name }) => name).join(""), ...leftOut.map(({ name, reason }) => `${name} ${reason}`)];
  };
  expect(await reasons({}, "sparse", "a")).toEqual(["a", "sparse too_large"]);
  expect(await reasons({ maxFileBytes: 4 }, "a")).toEqual(["", "a too_large"]);
  expect(await reasons({ maxTotalBytes: 11 }, "a", "b", "c")).toEqual(["ab", "c total_limit"]);
  expect(await reasons({ maxCount: 2 }, "a", "a", "b", "c", "d")).toEqual(["ab", "c count_limit", "d count_limit"]);
});

test("four sparse files of 256 MiB are not read, and a written file of the same run is still an artifact", async () => {
  const sparse = ["s1", "s2", "s3", "s4"];
  for (const name of sparse) {
    await writeFile(join(root, name), "");
    await truncate(join(root, name), 256 * 2 ** 20);
  }
  await writeFile(join(root, "written"), Buffer.alloc(100_000));
  const spentMs = await cpuMsOf(async () => {
    const { artifacts, leftOut } = await describeArtifacts(files, changed(...sparse, "written"));
    expect(artifacts.map(({ name }) => name)).toEqual(["written"]);
    expect(leftOut.map(({ name, reason }) => `${name} ${reason}`)).toEqual(sparse.map((name) => `${name} too_large`));
    expect(leftOut[0]?.message).toContain("sparse file: 268435456 of its 268435456 bytes were never written");
  });
  expect(spentMs).toBeLessThan(300); // to hash a gigabyte takes at least twice as long
});

test("a small hole in a file does not keep it from being an artifact", async () => {
  await writeFile(join(root, "array"), "head");
  await truncate(join(root, "array"), 2 ** 20);
  const { artifacts } = await describeArtifacts(files, changed("array"));
  expect(artifacts).toMatchObject([{ name: "array", size: 2 ** 20 }]);
  const { leftOut } = await describeArtifacts(files, changed("array"), { maxHoleBytes: 2 ** 19 });
  expect(leftOut).toMatchObject([{ name: "array", reason: "too_large" }]);
});

test("thousands of changes give a short list with the real count", async () => {
  const names = Array.from({ length: 2_000 }, (_, index) => `gone${index}`);
  const { leftOut, leftOutCount } = await describeArtifacts(files, changed(...names));
  expect([leftOut.length, leftOutCount]).toEqual([100, 2_000]);
});

test("an artifact is read again only if the file was touched", async () => {
  let nowMs = Date.now(); // stands still, however busy the machine is
  const cache = new HashCache(10, () => nowMs);
  await writeFile(join(root, "a"), "one");
  const digest = async () => (await describeArtifacts(files, changed("a"), {}, { cache })).artifacts[0]?.sha256;
  expect(await digest()).toBe(sha256("one"));
  // A second write in the same tick of the file system's clock may be invisible, so nothing is cached yet.
  await using young = await files.open("a");
  expect(cache.get(young)).toBeUndefined();
  await writeFile(join(root, "a"), "two");
  expect(await digest()).toBe(sha256("two"));
  nowMs = Date.now() + 60;
  expect(await digest()).toBe(sha256("two"));
  await using file = await files.open("a");
  expect(cache.get(file)?.sha256).toBe(sha256("two"));
  await appendFile(join(root, "a"), "!");
  expect(await digest()).toBe(sha256("two!"));
});

test("the hash cache evicts the least recently used entry", async () => {
  const cache = new HashCache(2);
  for (const name of ["a", "b", "c"]) await writeFile(join(root, name), name);
  await passed(60);
  for (const name of ["a", "b", "a", "c"]) await describeArtifacts(files, changed(name), {}, { cache });
  const isKnown = async (name: string) => {
    await using file = await files.open(name);
    return cache.get(file) !== undefined;
  };
  expect([await isKnown("a"), await isKnown("b"), await isKnown("c")]).toEqual([true, false, true]);
});

test("a file that changes while it is read is not an artifact yet", async () => {
  await writeFile(join(root, "a"), Buffer.alloc(4_000_000));
  const changing: WorkspaceFiles = Object.assign(Object.create(files) as WorkspaceFiles, {
    open: async (path: string) => {
      const file = await files.open(path);
      await appendFile(join(root, "a"), "x");
      return file;
    },
  });
  const { artifacts, leftOut } = await describeArtifacts(changing, changed("a"));
  expect([artifacts, leftOut[0]?.reason]).toEqual([[], "changing"]);
});

test("describing artifacts stops when the signal is aborted", async () => {
  await writeFile(join(root, "a"), "x");
  const signal = AbortSignal.abort();
  await expect(describeArtifacts(files, changed("a"), {}, { signal })).rejects.toMatchObject({ code: "aborted" });
});

test("files that the host would obey are listed first among those left out, whatever else a run writes", async () => {
  await mkdir(join(root, ".git/hooks"), { recursive: true });
  await writeFile(join(root, ".git/hooks/pre-commit"), "");
  const decoys = Array.from({ length: 150 }, (_, n) => `.env${n}`);
  const { leftOut, leftOutCount } = await describeArtifacts(files, changed(...decoys, ".git/hooks/pre-commit"));
  expect(leftOut[0]).toMatchObject({ name: ".git/hooks/pre-commit", reason: "refused" });
  expect([leftOut.length, leftOutCount]).toEqual([100, 151]);
  await writeFile(join(root, "a"), "");
  const after = await describeArtifacts(files, changed("a", "b", ".git/hooks/pre-commit"), { maxCount: 1 });
  expect(after.leftOut.map(({ reason }) => reason)).toEqual(["refused", "count_limit"]);
});
