import { execFileSync } from "node:child_process";
import { link, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openTestWorkspace, type TestWorkspace } from "../../test/support/test-workspace.ts";
import { openWorkspaceFiles, type WorkspaceFiles } from "./workspace-files.ts";

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

describe("writing a file", () => {
  const upload = (path: string, source: Uint8Array | AsyncIterable<Uint8Array>, maxBytes = 1000) =>
    files.write(path, source, { maxBytes });

  test("creates directories, replaces an old file and sets its mode", async () => {
    expect(await upload("a/b/c", Buffer.from("one"))).toEqual({ size: 3 });
    await upload("a/b/c", pieces("two", "2"));
    expect(await text("a/b/c")).toBe("two2");
    expect((await stat(join(root, "a/b/c"))).mode & 0o7777).toBe(0o644);
    await files.write("run.sh", Buffer.from(""), { maxBytes: 1, mode: 0o4755 });
    expect((await stat(join(root, "run.sh"))).mode & 0o7777).toBe(0o755);
    expect(await readdir(join(root, "a/b"))).toEqual(["c"]);
  });

  test("stops at the limit and leaves nothing, not even a directory", async () => {
    await writeFile(join(root, "kept"), "before");
    const endless = { pulled: 0 };
    async function* flood() {
      for (;;) {
        endless.pulled++;
        yield Buffer.alloc(400);
      }
    }
    await expect(upload("new/deep/x", flood())).rejects.toThrow(code("too_large"));
    await expect(upload("kept", flood())).rejects.toThrow(code("too_large"));
    await expect(upload("new/y", Buffer.alloc(1001))).rejects.toThrow(code("too_large"));
    expect(endless.pulled).toBe(6);
    expect(await readdir(root)).toEqual(["kept"]);
    expect(await text("kept")).toBe("before");
    expect(await upload("exact", Buffer.alloc(1000))).toEqual({ size: 1000 });
  });

  test("keeps a directory that it created if another program uses it by then", async () => {
    async function* source() {
      yield Buffer.from("x");
      await writeFile(join(root, "new/other"), "");
      throw new Error("the connection was lost");
    }
    await expect(upload("new/x", source())).rejects.toThrow();
    expect(await readdir(join(root, "new"))).toEqual(["other"]);
  });

  test("leaves nothing when the source fails or sends anything but bytes", async () => {
    async function* broken() {
      yield Buffer.from("x");
      throw new Error("the connection was lost");
    }
    await expect(upload("x", broken())).rejects.toThrow(code("internal"));
    await expect(upload("x", pieces("x", 7 as unknown as string))).rejects.toThrow();
    expect(await readdir(root)).toEqual([]);
  });

  test("stops when it is aborted while the source is silent", async () => {
    const controller = new AbortController();
    let isClosed = false;
    const silent: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          setImmediate(() => controller.abort());
          return new Promise(() => {});
        },
        return: async () => {
          isClosed = true;
          return { done: true, value: undefined };
        },
      }),
    };
    await expect(files.write("x", silent, { maxBytes: 9, signal: controller.signal })).rejects.toThrow(code("aborted"));
    expect([isClosed, await readdir(root)]).toEqual([true, []]);
  });

  test("frees each chunk once it is written, however long the upload is", async () => {
    setFlagsFromString("--expose-gc");
    const collect: () => void = runInNewContext("gc");
    const pieces: WeakRef<Uint8Array>[] = [];
    let held = 0;
    async function* long() {
      for (let count = 0; count < 64; count++) {
        const piece = new Uint8Array(64 * 1024);
        pieces.push(new WeakRef(piece));
        yield piece;
      }
      await new Promise((resolve) => setImmediate(resolve)); // a WeakRef that a task has read stays alive until the task ends
      collect();
      held = pieces.filter((piece) => piece.deref() !== undefined).length;
    }
    await files.write("long", long(), { maxBytes: 2 ** 30, signal: new AbortController().signal });
    expect(held).toBeLessThan(8);
  });

  test("refuses the name of a directory, and a path below a file", async () => {
    await mkdir(join(root, "dir/full"), { recursive: true });
    await writeFile(join(root, "file"), "x");
    await expect(upload("dir", Buffer.from("x"))).rejects.toThrow(/dir is a directory/);
    await expect(upload("file/below", Buffer.from("x"))).rejects.toThrow(refused);
    expect(await readdir(root)).toEqual(["dir", "file"]);
  });

  test("replaces a link instead of following it, and follows none on the way", async () => {
    await symlink(canary, join(root, "out"));
    await symlink(base, join(root, "parent"));
    await upload("out", Buffer.from("mine"));
    await expect(upload("parent/canary", Buffer.from("x"))).rejects.toThrow(refused);
    await expect(upload("parent/new/x", Buffer.from("x"))).rejects.toThrow(refused);
    expect(await readFile(canary, "utf8")).toBe("CANARY");
    expect(await readdir(base)).toEqual(["canary", "workspace"]);
    expect(await text("out")).toBe("mine");
  });

  test("does not change other hard links of a replaced file", async () => {
    await link(canary, join(root, "hard"));
    await upload("hard", Buffer.from("mine"));
    expect(await readFile(canary, "utf8")).toBe("CANARY");
  });

  test.runIf(process.geteuid?.() === 0)("gives files and new directories to the cell's user", async () => {
    await mkdir(join(root, "old"));
    await files.write("old/new/x", Buffer.from("x"), { maxBytes: 9, ownerUid: 12345 });
    const owner = async (path: string) => (await stat(join(root, path))).uid;
    expect([await owner("old"), await owner("old/new"), await owner("old/new/x")]).toEqual([0, 12345, 12345]);
  });

  test.runIf(canMount())("reports a full disk and leaves nothing", async () => {
    const small = join(base, "small");
    await mkdir(small);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "none", small]);
    try {
      await using full = await openWorkspaceFiles(small);
      const source = pieces(..."abcdefgh".split("").map((letter) => letter.repeat(16_384)));
      const failure = full.write("new/x", source, { maxBytes: 1_000_000 });
      await expect(failure).rejects.toMatchObject({ code: "too_large", details: { reason: "disk_full" } });
      expect(await readdir(small)).toEqual([]);
      await full.write("fits", Buffer.alloc(50_000), { maxBytes: 1_000_000 });
    } finally {
      execFileSync("umount", ["-l", small]);
    }
  });
});

async function* pieces(...parts: string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield typeof part === "string" ? Buffer.from(part) : (part as Uint8Array);
}

/** Mounting needs root and a machine that allows it. */
function canMount(): boolean {
  try {
    execFileSync("unshare", ["-m", "mount", "-t", "tmpfs", "none", tmpdir()], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
