import { execFileSync } from "node:child_process";
import { mkdir, open, readdir, readFile, symlink, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openTestWorkspace, type TestWorkspace } from "../../test/support/test-workspace.ts";
import { isThorough } from "../../test/support/thorough.ts";
import { denyNothing, openWorkspaceFiles, type WorkspaceFiles } from "./workspace-files.ts";

let base: string;
let root: string;
let canary: string;
let files: WorkspaceFiles;
let place: TestWorkspace;
const code = (name: string) => expect.objectContaining({ code: name });
const refused = code("file_refused");
const text = async (path: string) => Buffer.from((await files.read(path)).data).toString();

beforeEach(async () => {
  place = await openTestWorkspace();
  ({ base, root, canary, files } = place);
});

afterEach(() => place[Symbol.asyncDispose]());

describe("reading a workspace", () => {
  test("returns a file or a range of it, and its size", async () => {
    await mkdir(join(root, "a/b"), { recursive: true });
    await writeFile(join(root, "a/b/c.txt"), "0123456789");
    expect(await text("a/b/c.txt")).toBe("0123456789");
    const part = await files.read("a/b/c.txt", { start: 2, end: 5 });
    expect([Buffer.from(part.data).toString(), part.size]).toEqual(["234", 10]);
    expect((await files.read("a/b/c.txt", { start: 8, end: 99 })).data).toHaveLength(2);
    expect((await files.read("a/b/c.txt", { start: 50 })).data).toHaveLength(0);
    expect(await files.stat("a/b/c.txt")).toMatchObject({ path: "a/b/c.txt", size: 10 });
    await expect(files.read("a/b/c.txt", { start: 5, end: 2 })).rejects.toThrow(code("usage"));
    await expect(files.read("a/b/c.txt", { start: -1 })).rejects.toThrow(code("usage"));
  });

  test("reports a missing file without host paths", async () => {
    await writeFile(join(root, "file"), "");
    await expect(files.read("no/such")).rejects.toThrow(code("file_missing"));
    await expect(files.stat("no")).rejects.toThrow(code("file_missing"));
    await expect(files.read("file/below")).rejects.toThrow(refused);
    const error = await files.read("no/such").catch((caught: Error) => caught);
    expect((error as Error).message).not.toMatch(/\/tmp|\/proc/);
    for (const path of ["no/such", "file/below", "no"]) {
      const { cause } = (await files.read(path).catch((caught: Error) => caught)) as { cause: Error };
      expect(cause.message).toContain(path);
      const told = `${cause.message} ${cause.stack} ${(cause as NodeJS.ErrnoException).path}`;
      expect(told).not.toContain("/proc/self");
      expect(told).not.toContain(root);
    }
  });

  test.each(["../canary", "/etc/hostname", "a/../../canary", "..", ".", "", "a\0b", "./x", "x/", "..\\canary"])(
    "refuses the path %j in every method",
    async (path) => {
      for (const access of [
        () => files.stat(path),
        () => files.open(path),
        () => files.read(path),
        () => files.stream(path),
        () => files.remove(path),
        () => files.write(path, Buffer.from("x"), { maxBytes: 10 }),
      ]) {
        await expect(access()).rejects.toThrow(refused);
      }
    },
  );

  test("never reads, lists or writes outside it, for any random path", async () => {
    await mkdir(join(root, "a/b"), { recursive: true });
    await symlink(base, join(root, "up"));
    await symlink("../..", join(root, "a/up"));
    await symlink(canary, join(root, "a/b/canary"));
    await writeFile(join(root, "a/x"), "good");
    const pieces = [
      "a",
      "b",
      "x",
      "up",
      "canary",
      "workspace",
      "..",
      ".",
      "/",
      "/",
      "/",
      "//",
      "\\",
      "\0",
      "proc",
      base,
    ];
    let state = 9;
    const random = (limit: number) => {
      state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
      return Math.floor((state / 2 ** 32) * limit);
    };
    let good = 0;
    for (let round = 0; round < (isThorough ? 1_500 : 500); round++) {
      const path = Array.from({ length: 1 + random(6) }, () => pieces[random(pieces.length)]).join("");
      const got = await text(path).catch((error: { code?: string }) => error.code);
      expect(["good", "file_refused", "file_missing"]).toContain(got);
      if (got === "good") good++;
      for (const file of (await files.list({ prefix: path, after: path })).files) expect(file.path).toBe("a/x");
    }
    await text("a/x").then((got) => expect(got).toBe("good"));
    for (let round = 0; round < (isThorough ? 300 : 100); round++) {
      const path = Array.from({ length: 1 + random(6) }, () => pieces[random(pieces.length)]).join("");
      await files.write(path, Buffer.from("mine"), { maxBytes: 9 }).catch(() => {});
      await files.remove(path).catch(() => {});
    }
    expect(good).toBeGreaterThan(0);
    expect(await readdir(base)).toEqual(["canary", "workspace"]);
    expect(await readFile(canary, "utf8")).toBe("CANARY");
  });

  test("follows no link: to a file, to a directory, to itself, within the workspace or out of it", async () => {
    await mkdir(join(root, "dir"));
    await writeFile(join(root, "dir/inside"), "inside");
    await symlink(canary, join(root, "out"));
    await symlink("../canary", join(root, "up"));
    await symlink("dir/inside", join(root, "in"));
    await symlink(base, join(root, "parent"));
    await symlink("dir", join(root, "linked"));
    await symlink("/proc/self", join(root, "proc"));
    await symlink("self", join(root, "self"));
    for (const path of ["out", "up", "in", "parent/canary", "linked/inside", "proc/environ", "self"]) {
      await expect(files.read(path), path).rejects.toThrow(refused);
      await expect(files.stat(path), path).rejects.toThrow(refused);
    }
    expect((await files.list()).files.map(({ path }) => path)).toEqual(["dir/inside"]);
  });

  test("neither hangs on a pipe nor reads a socket, a device or a directory", async () => {
    execFileSync("mkfifo", [join(root, "pipe")]);
    const server = createServer().listen(join(root, "socket"));
    await new Promise((resolve) => server.once("listening", resolve));
    await mkdir(join(root, "dir"));
    const special = ["pipe", "socket", "dir"];
    try {
      execFileSync("mknod", [join(root, "zero"), "c", "1", "5"], { stdio: "ignore" });
      special.push("zero");
    } catch {
      // only root can create devices
    }
    for (const path of special) {
      await expect(files.read(path), path).rejects.toThrow(refused);
      await expect(files.stream(path), path).rejects.toThrow(refused);
      await expect(files.stat(path), path).rejects.toThrow(refused);
    }
    expect(await files.list()).toMatchObject({ files: [], leftOut: special.length - 1 });
    await new Promise((resolve) => server.close(resolve));
  });

  test("does not allocate memory for a sparse file, and reads a range of it", async () => {
    const handle = await open(join(root, "sparse"), "w");
    await truncate(join(root, "sparse"), 2 ** 40);
    await handle.write("end", 2 ** 40 - 3);
    await handle.close();
    await expect(files.read("sparse")).rejects.toThrow(code("too_large"));
    const { data, size } = await files.read("sparse", { start: 2 ** 40 - 3 });
    expect([Buffer.from(data).toString(), size]).toEqual(["end", 2 ** 40]);
    await expect(files.read("sparse", { start: 0, end: 100, maxBytes: 99 })).rejects.toThrow(code("too_large"));
  });

  test("streams a file in chunks and closes it, also when the reader stops early", async () => {
    await writeFile(join(root, "big"), Buffer.alloc(1_000_000, "ab"));
    const before = await descriptors();
    const stream = await files.stream("big", { start: 1 });
    const parts: Uint8Array[] = [];
    for await (const part of stream.data) parts.push(part);
    expect([stream.size, Buffer.concat(parts).length]).toEqual([1_000_000, 999_999]);
    for await (const _part of (await files.stream("big")).data) break;
    await (await files.stream("big"))[Symbol.asyncDispose]();
    expect(await descriptors()).toBe(before);
  });

  test("ends a stream with an error when the file became shorter than its reported size", async () => {
    await writeFile(join(root, "big"), Buffer.alloc(1_000_000));
    const stream = await files.stream("big");
    await truncate(join(root, "big"), 10);
    await expect(async () => {
      for await (const _part of stream.data);
    }).rejects.toThrow(refused);
  });
});

describe("a file of the workspace that the policy denies", () => {
  test("is neither read, listed, written nor removed, in any letter case", async () => {
    await mkdir(join(root, ".git/hooks"), { recursive: true });
    await mkdir(join(root, ".SSH"));
    for (const path of [".env", ".SSH/key", "ok"]) await writeFile(join(root, path), "x");
    for (const path of [".env", ".SSH/key", ".git/hooks/pre-commit", ".ENV.local", "sandbox.policy.yaml"]) {
      await expect(files.read(path)).rejects.toThrow(/denied by/);
      await expect(files.write(path, Buffer.from("x"), { maxBytes: 9 })).rejects.toThrow(refused);
      await expect(files.remove(path)).rejects.toThrow(refused);
    }
    expect((await files.list()).files.map(({ path }) => path)).toEqual(["ok"]);
    await using open = await openWorkspaceFiles(root, { deny: denyNothing });
    expect((await open.list()).files).toHaveLength(3);
  });
});

describe("removing from a workspace", () => {
  test("removes a file or the link itself, never a directory or the target of a link", async () => {
    await files.write("d/x", Buffer.from("x"), { maxBytes: 9 });
    await symlink(canary, join(root, "out"));
    await symlink(base, join(root, "parent"));
    await files.remove("d/x");
    await files.remove("out");
    await expect(files.remove("d")).rejects.toThrow(refused);
    await expect(files.remove("parent/canary")).rejects.toThrow(refused);
    await expect(files.remove("d/x")).rejects.toThrow(code("file_missing"));
    expect(await readFile(canary, "utf8")).toBe("CANARY");
  });
});

describe("an open workspace", () => {
  test("must be a directory given by its real path", async () => {
    await symlink(root, join(base, "link"));
    await expect(openWorkspaceFiles(join(base, "link"))).rejects.toThrow(refused);
    await expect(openWorkspaceFiles(canary)).rejects.toThrow(refused);
    await expect(openWorkspaceFiles(join(base, "no"))).rejects.toThrow(code("file_missing"));
  });

  test("refuses calls after it is closed, aborts uploads, and leaves no descriptor open", async () => {
    const before = await descriptors();
    const other = await openWorkspaceFiles(root);
    await files.write("x", Buffer.from("x"), { maxBytes: 9 });
    await other.stream("x");
    const stalled = other.write(
      "y",
      { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) },
      { maxBytes: 9 },
    );
    const ended = expect(stalled).rejects.toThrow(code("aborted"));
    await other[Symbol.asyncDispose]();
    await other[Symbol.asyncDispose]();
    await ended;
    await expect(other.read("x")).rejects.toThrow(code("session_closed"));
    expect(await descriptors()).toBe(before);
    expect(await readdir(root)).toEqual(["x"]);
  });
});

async function descriptors(): Promise<number> {
  return (await readdir("/proc/self/fd").catch(() => [])).length;
}
