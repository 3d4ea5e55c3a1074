import { execFileSync } from "node:child_process";
import {
  chmod,
  link,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startSwapper } from "../../test/support/swapper.ts";
import { denyNothing, openWorkspaceFiles, type WorkspaceFiles } from "./workspace-files.ts";

let base: string;
let root: string;
let canary: string;
let files: WorkspaceFiles;
const code = (name: string) => expect.objectContaining({ code: name });
const refused = code("file_refused");
const text = async (path: string) => Buffer.from((await files.read(path)).data).toString();

beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "codecell-files-")));
  root = join(base, "workspace");
  canary = join(base, "canary");
  await mkdir(root);
  await writeFile(canary, "CANARY");
  files = await openWorkspaceFiles(root);
});

afterEach(async () => {
  await files[Symbol.asyncDispose]();
  await rm(base, { recursive: true, force: true });
});

describe("reading", () => {
  test("gives a file, a part of it, and its size", async () => {
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

  test("says what is missing without the host's paths", async () => {
    await writeFile(join(root, "file"), "");
    await expect(files.read("no/such")).rejects.toThrow(code("file_missing"));
    await expect(files.stat("no")).rejects.toThrow(code("file_missing"));
    await expect(files.read("file/below")).rejects.toThrow(refused);
    const error = await files.read("no/such").catch((caught: Error) => caught);
    expect((error as Error).message).not.toMatch(/\/tmp|\/proc/);
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

  test("never reads, lists or writes outside, whatever path is made up", async () => {
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
    for (let round = 0; round < 1500; round++) {
      const path = Array.from({ length: 1 + random(6) }, () => pieces[random(pieces.length)]).join("");
      const got = await text(path).catch((error: { code?: string }) => error.code);
      expect(["good", "file_refused", "file_missing"]).toContain(got);
      if (got === "good") good++;
      for (const file of (await files.list({ prefix: path, after: path })).files) expect(file.path).toBe("a/x");
    }
    await text("a/x").then((got) => expect(got).toBe("good"));
    for (let round = 0; round < 300; round++) {
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
      // only root makes devices
    }
    for (const path of special) {
      await expect(files.read(path), path).rejects.toThrow(refused);
      await expect(files.stream(path), path).rejects.toThrow(refused);
      await expect(files.stat(path), path).rejects.toThrow(refused);
    }
    expect(await files.list()).toMatchObject({ files: [], leftOut: special.length - 1 });
    await new Promise((resolve) => server.close(resolve));
  });

  test("takes no memory for a sparse file, and reads a part of it", async () => {
    const handle = await open(join(root, "sparse"), "w");
    await truncate(join(root, "sparse"), 2 ** 40);
    await handle.write("end", 2 ** 40 - 3);
    await handle.close();
    await expect(files.read("sparse")).rejects.toThrow(code("too_large"));
    const { data, size } = await files.read("sparse", { start: 2 ** 40 - 3 });
    expect([Buffer.from(data).toString(), size]).toEqual(["end", 2 ** 40]);
    await expect(files.read("sparse", { start: 0, end: 100, maxBytes: 99 })).rejects.toThrow(code("too_large"));
  });

  test("streams a file in pieces and closes it, also when the reader leaves early", async () => {
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

  test("ends a stream with an error when the file became shorter than was said", async () => {
    await writeFile(join(root, "big"), Buffer.alloc(1_000_000));
    const stream = await files.stream("big");
    await truncate(join(root, "big"), 10);
    await expect(async () => {
      for await (const _part of stream.data);
    }).rejects.toThrow(refused);
  });
});

describe("what the policy denies", () => {
  test("is neither read, listed, written nor removed, in any case", async () => {
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

describe("writing", () => {
  const upload = (path: string, source: Uint8Array | AsyncIterable<Uint8Array>, maxBytes = 1000) =>
    files.write(path, source, { maxBytes });

  test("makes directories, replaces a file and sets its mode", async () => {
    expect(await upload("a/b/c", Buffer.from("one"))).toEqual({ size: 3 });
    await upload("a/b/c", pieces("two", "2"));
    expect(await text("a/b/c")).toBe("two2");
    expect((await stat(join(root, "a/b/c"))).mode & 0o7777).toBe(0o644);
    await files.write("run.sh", Buffer.from(""), { maxBytes: 1, mode: 0o4755 });
    expect((await stat(join(root, "run.sh"))).mode & 0o7777).toBe(0o755);
    expect(await readdir(join(root, "a/b"))).toEqual(["c"]);
  });

  test("stops in the middle at the limit, and nothing is left, not even a directory", async () => {
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

  test("keeps a directory that it made when somebody else uses it by then", async () => {
    async function* source() {
      yield Buffer.from("x");
      await writeFile(join(root, "new/other"), "");
      throw new Error("the connection was lost");
    }
    await expect(upload("new/x", source())).rejects.toThrow();
    expect(await readdir(join(root, "new"))).toEqual(["other"]);
  });

  test("leaves nothing when the source fails or sends something else than bytes", async () => {
    async function* broken() {
      yield Buffer.from("x");
      throw new Error("the connection was lost");
    }
    await expect(upload("x", broken())).rejects.toThrow(code("internal"));
    await expect(upload("x", pieces("x", 7 as unknown as string))).rejects.toThrow();
    expect(await readdir(root)).toEqual([]);
  });

  test("ends at the signal while the source is silent", async () => {
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

  test("refuses a name that is a directory, and one below a file", async () => {
    await mkdir(join(root, "dir/full"), { recursive: true });
    await writeFile(join(root, "file"), "x");
    await expect(upload("dir", Buffer.from("x"))).rejects.toThrow(/dir is a directory/);
    await expect(upload("file/below", Buffer.from("x"))).rejects.toThrow(refused);
    expect(await readdir(root)).toEqual(["dir", "file"]);
  });

  test("replaces a link instead of writing through it, and enters none", async () => {
    await symlink(canary, join(root, "out"));
    await symlink(base, join(root, "parent"));
    await upload("out", Buffer.from("mine"));
    await expect(upload("parent/canary", Buffer.from("x"))).rejects.toThrow(refused);
    await expect(upload("parent/new/x", Buffer.from("x"))).rejects.toThrow(refused);
    expect(await readFile(canary, "utf8")).toBe("CANARY");
    expect(await readdir(base)).toEqual(["canary", "workspace"]);
    expect(await text("out")).toBe("mine");
  });

  test("leaves other names of a replaced file alone", async () => {
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

  test.runIf(canMount())("says that the disk is full, and nothing is left", async () => {
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

describe("listing", () => {
  test("is sorted, in pages, by prefix, and shows each file once", async () => {
    const names = ["a", "a.txt", "a/b", "a/c/d", "a0", "b/x", "B", "ä", "z"].filter((name) => name !== "a");
    for (const name of names) await files.write(name, Buffer.from(name), { maxBytes: 99 });
    const whole = await files.list();
    expect(whole.files.map(({ path }) => path)).toEqual([...names].sort());
    expect(whole).toMatchObject({ leftOut: 0, truncated: false });
    expect(whole).not.toHaveProperty("next");
    for (let limit = 1; limit <= names.length; limit++) {
      const seen: string[] = [];
      for (let after: string | undefined = ""; after !== undefined; ) {
        const page = await files.list({ limit, after });
        seen.push(...page.files.map(({ path }) => path));
        after = page.next;
      }
      expect(seen).toEqual([...names].sort());
    }
    const paths = async (prefix: string) => (await files.list({ prefix })).files.map(({ path }) => path);
    expect(await paths("a/")).toEqual(["a/b", "a/c/d"]);
    expect(await paths("a/c/d")).toEqual(["a/c/d"]);
    expect(await paths("a")).toEqual(["a.txt", "a/b", "a/c/d", "a0"]);
    expect(await paths("../")).toEqual([]);
  });

  test("leaves out names that cannot be shown and files that are still being written", async () => {
    for (const name of ["a\nb", "\u001b[2J", "x\u202egnp", "back\\slash"]) await writeFile(join(root, name), "");
    await writeFile(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff, 0x41])]), "");
    await mkdir(join(root, "bad\ndir"));
    await writeFile(join(root, "bad\ndir/x"), "");
    async function* source() {
      yield Buffer.from("x");
      expect(await files.list()).toEqual({ files: [], leftOut: 6, truncated: false });
    }
    await files.write("good", source(), { maxBytes: 9 });
    expect(await files.list()).toMatchObject({ files: [{ path: "good", size: 1 }], leftOut: 6 });
  });

  test("stops at its limits and says so", async () => {
    await using small = await openWorkspaceFiles(root, { limits: { maxEntries: 10, maxDepth: 3 } });
    await mkdir(join(root, "1/2/3/4"), { recursive: true });
    await writeFile(join(root, "1/2/3/4/deep"), "");
    await writeFile(join(root, "1/2/shallow"), "");
    expect(await small.list()).toMatchObject({ files: [{ path: "1/2/shallow" }], truncated: true });
    for (let index = 0; index < 20; index++) await writeFile(join(root, `f${index}`), "");
    const { files: found, truncated } = await small.list();
    expect([found.length <= 10, truncated]).toEqual([true, true]);
    expect((await files.list()).files).toHaveLength(22);
  });

  test("of ten thousand files takes well under a second", async () => {
    for (let directory = 0; directory < 100; directory++) {
      await mkdir(join(root, `d${directory}`));
      await Promise.all(
        Array.from({ length: 100 }, (_, index) => writeFile(join(root, `d${directory}/f${index}`), "")),
      );
    }
    const started = performance.now();
    const page = await files.list({ limit: 100 });
    const all = await files.list({ limit: 10_000 });
    const tookMs = performance.now() - started;
    expect([page.files.length, all.files.length]).toEqual([100, 10_000]);
    expect(page.next).toBe(page.files.at(-1)?.path);
    expect(tookMs).toBeLessThan(3000);
  }, 30_000);

  test("passes over a directory that it may not read", async () => {
    await files.write("closed/x", Buffer.from("x"), { maxBytes: 9 });
    await chmod(join(root, "closed"), 0);
    await expect(files.list()).resolves.toMatchObject({ truncated: false });
    await chmod(join(root, "closed"), 0o755);
  });
});

describe("removing", () => {
  test("takes a file or the link itself, never a directory or what a link leads to", async () => {
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
  test("is a directory by its real path", async () => {
    await symlink(root, join(base, "link"));
    await expect(openWorkspaceFiles(join(base, "link"))).rejects.toThrow(refused);
    await expect(openWorkspaceFiles(canary)).rejects.toThrow(refused);
    await expect(openWorkspaceFiles(join(base, "no"))).rejects.toThrow(code("file_missing"));
  });

  test("answers nothing after it was closed, ends uploads, and leaves no descriptor open", async () => {
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

describe("while a program swaps what is read", () => {
  /** Reads for 300 ms; answers with what was seen and how often. `naive` shows that the race is real. */
  async function watch(path: string, naive: string) {
    const seen = { good: 0, refused: 0, naiveCanary: 0 };
    const started = performance.now();
    while (isUndecided(seen, started)) {
      const got = await text(path).catch((error: { code?: string }) => error.code);
      expect(["good", "file_refused", "file_missing"]).toContain(got);
      if (got === "good") seen.good++;
      else seen.refused++;
      if ((await readFile(naive, "utf8").catch(() => "")) === "CANARY") seen.naiveCanary++;
    }
    return seen;
  }

  test("a file for a link: the canary is never read", async () => {
    const target = join(root, "file");
    await writeFile(target, "good");
    const swap = `
      fs.symlinkSync(args[1], args[2] + "/l"); fs.renameSync(args[2] + "/l", args[0]);
      fs.writeFileSync(args[2] + "/f", "good"); fs.renameSync(args[2] + "/f", args[0]);`;
    await using _swapper = await startSwapper(swap, [target, canary, root]);
    const seen = await watch("file", target);
    expect(Math.min(seen.good, seen.refused, seen.naiveCanary)).toBeGreaterThan(0);
  });

  test("a directory for a link: the canary is never read, listed, written or removed", async () => {
    await mkdir(join(root, "dir"));
    await mkdir(join(base, "outside"));
    await writeFile(join(root, "dir/file"), "good");
    await writeFile(join(base, "outside/file"), "CANARY");
    const swap = `
      try { fs.renameSync("dir", "aside"); fs.symlinkSync("../outside", "dir"); pause(); } catch {}
      try { fs.rmSync("dir", { recursive: true }); fs.renameSync("aside", "dir"); pause(); } catch {}`;
    await using _swapper = await startSwapper(`process.chdir(args[0]); ${swap}`, [root]);
    const seen = await watch("dir/file", join(root, "dir/file"));
    expect(Math.min(seen.good, seen.refused, seen.naiveCanary)).toBeGreaterThan(0);
    for (const end = performance.now() + 300; performance.now() < end; ) {
      await files.write("dir/upload", Buffer.from("x"), { maxBytes: 9 }).catch(() => {});
      await files.remove("dir/upload").catch(() => {});
      for (const { path, size } of (await files.list()).files) if (path.endsWith("/file")) expect(size).toBe(4);
    }
    expect(await readdir(join(base, "outside"))).toEqual(["file"]);
    expect(await readFile(join(base, "outside/file"), "utf8")).toBe("CANARY");
  });

  test("a file for a pipe: nothing hangs", async () => {
    const target = join(root, "file");
    execFileSync("mkfifo", [join(root, "pipe")]);
    const swap = `
      fs.linkSync(args[1] + "/pipe", args[1] + "/p"); fs.renameSync(args[1] + "/p", args[0]);
      fs.writeFileSync(args[1] + "/f", "good"); fs.renameSync(args[1] + "/f", args[0]);`;
    await using _swapper = await startSwapper(swap, [target, root]);
    let [good, rejected] = [0, 0];
    for (const end = performance.now() + 300; performance.now() < end; ) {
      const got = await text("file").catch((error: { code?: string }) => error.code);
      if (got === "good") good++;
      else rejected++;
    }
    expect(Math.min(good, rejected)).toBeGreaterThan(0);
  });
});

async function* pieces(...parts: string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield typeof part === "string" ? Buffer.from(part) : (part as Uint8Array);
}

async function descriptors(): Promise<number> {
  return (await readdir("/proc/self/fd").catch(() => [])).length;
}

/** Mounting needs root and a machine that lets it. */
function canMount(): boolean {
  try {
    execFileSync("unshare", ["-m", "mount", "-t", "tmpfs", "none", tmpdir()], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** At least 300 ms, and until every outcome was seen: a race that never happened proves nothing. */
function isUndecided(seen: Record<string, number>, started: number): boolean {
  const tookMs = performance.now() - started;
  return tookMs < 300 || (tookMs < 4000 && Object.values(seen).includes(0));
}
