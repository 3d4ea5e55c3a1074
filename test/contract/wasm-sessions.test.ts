import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { WorkspaceFiles } from "../../src/artifacts/workspace-files.ts";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import type { PolicyInput } from "../../src/policy/schema.ts";
import { wasmRunner } from "../../src/runners/wasm/runner.ts";
import { Codecell } from "../../src/sessions/codecell.ts";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import { LiveSessions } from "../../src/sessions/live-sessions.ts";
import type { LiveRunOptions } from "../../src/sessions/runs/live-run-options.ts";
import type { RunResult } from "../../src/sessions/runs/run.ts";
import { readManifest } from "../../src/sessions/storage/snapshot-manifest.ts";
import { skipOrFail } from "./required.ts";

const policy: PolicyInput = { proc: { timeout: "20s", memory: "256MiB", disk: "16MiB" } };
const probe = await wasmRunner().probe();
const crash = "import os\nos._exit(9)";

describe.skipIf(skipOrFail("wasm", probe))("a session in the wasm runner", () => {
  let codecell: LiveSessions;
  let session: LiveSession;
  beforeAll(async () => {
    codecell = await LiveSessions.open({ policy: parsePolicy(policy), runners: [wasmRunner()] });
    session = await codecell.openSession();
  });
  afterAll(() => codecell?.close());
  beforeEach(() => session.reset());
  const run = (code: string, options?: LiveRunOptions): Promise<RunResult> => session.run(code, options);
  const value = async (expression: string) => (await run(expression)).value;
  const files = (): WorkspaceFiles => {
    if (!session.files) throw new Error("the session has no files");
    return session.files;
  };
  const text = async (path: string) => Buffer.from((await files().read(path)).data).toString();
  const paths = (result: RunResult) => result.artifacts.map(({ name }) => name);

  describe("saves its variables as a snapshot", () => {
    test("and restores values, functions, classes and modules in another session", async () => {
      await run(
        "import math\nrows = [1, 2.5, 'ü']\ndef half(n):\n    return n / 2\nclass Point:\n    def __init__(self, x): self.x = x\np = Point(7)",
      );
      const snapshot = await session.snapshot();
      expect(readManifest(snapshot).saved).toEqual(["math", "rows", "half", "Point", "p"]);
      await using other = await codecell.openSession();
      expect(await other.restore(snapshot)).toEqual([]);
      expect((await other.run("rows, half(3), p.x, math.floor(2.5)")).value).toBe("([1, 2.5, 'ü'], 1.5, 7, 2)");
    });

    test("and names the variables that cannot be pickled, with the reason", async () => {
      await run("good = 1\nbad = (n for n in range(3))");
      const { saved, skipped } = readManifest(await session.snapshot());
      expect(saved).toEqual(["good"]);
      expect(skipped).toEqual([{ name: "bad", reason: expect.stringContaining("generator") }]);
    });

    test("of several megabytes, complete and in order", async () => {
      const bytes = Buffer.alloc(9_000_001, "0123456789");
      await session.set("blob", bytes);
      await run("small = list(range(1000))");
      const snapshot = await session.snapshot();
      await session.reset();
      expect(await session.restore(snapshot)).toEqual([]);
      expect((await session.getBytes("blob")).equals(bytes)).toBe(true);
      expect(await value("sum(small)")).toBe("499500");
    });

    test("and refuses a snapshot over the requested size, but keeps the variables", async () => {
      await run("blob = bytes(3_000_000)\nnested = [[bytes(1_000_000)] for _ in range(3)]");
      await expect(session.snapshot({ maxBytes: 2_000_000 })).rejects.toMatchObject({ code: "too_large" });
      await run("blob = None");
      await expect(session.snapshot({ maxBytes: 2_000_000 })).rejects.toMatchObject({ code: "too_large" });
      expect(await value("len(nested)")).toBe("3");
    });

    test("and interrupts a value whose pickling never ends", async () => {
      await run("x = 1\nclass Slow:\n    def __reduce__(self):\n        while True: pass\nslow = Slow()");
      await expect(session.snapshot({ timeoutMs: 200 })).rejects.toMatchObject({
        code: "expression_failed",
        message: expect.stringContaining("timed out"),
      });
      expect(await value("x")).toBe("1");
    });

    test("and refuses to restore bytes that are not a snapshot", async () => {
      await run("x = 1");
      await expect(session.restore(Buffer.from("not a snapshot at all"))).rejects.toMatchObject({
        code: "variable_unserializable",
      });
      expect(await value("x")).toBe("1");
    });

    test("in the order of the calls, awaited or not", async () => {
      const setting = session.set("late", Buffer.alloc(6_000_000));
      expect(await value("len(late)")).toBe("6000000");
      await setting;
    });

    test("while strings are set as variables unchanged", async () => {
      await session.set("note", "ü\n😀");
      expect(await value("note, len(note)")).toBe("('ü\\n😀', 3)");
    });
  });

  describe("reports the files that a run changed", () => {
    test("by name, size and content, once", async () => {
      const result = await run("import os\nos.makedirs('plots/new')\nopen('plots/new/a.csv', 'w').write('a,b\\n')");
      expect(result.artifacts).toMatchObject([
        { name: "plots/new/a.csv", size: 4, mimeType: "text/csv; charset=utf-8", run: result.id },
      ]);
      expect(paths(await run("open('plots/new/a.csv').read()"))).toEqual([]);
    });

    test.each<[string, string, string[]]>([
      ["an empty file", "open('empty', 'w').close()", ["empty"]],
      ["what was appended to", "open('log', 'a').write('x')", ["log"]],
      ["what was cut", "open('log', 'r+').truncate(0)", ["log"]],
      ["what a temporary file became", "open('/tmp/t', 'w').write('x')\nimport os\nos.replace('/tmp/t', 'r')", ["r"]],
      [
        "what came in a directory",
        "import os\nos.makedirs('/tmp/d/e', exist_ok=True)\nopen('/tmp/d/e/f', 'w').write('x')\nos.rename('/tmp/d', 'moved')",
        ["moved/e/f"],
      ],
      [
        "what was written through a map",
        "import mmap\nopen('m', 'wb').write(bytes(9))\nf = open('m', 'r+b')\nm = mmap.mmap(f.fileno(), 0)\nm[:2] = b'ok'\nm.close()",
        ["m"],
      ],
    ])("such as %s", async (_, code, expected) => {
      expect(paths(await run(code))).toEqual(expected);
    });

    test("except files that were deleted, outside the workspace, symlinks or only read", async () => {
      await run("open('old', 'w').write('x')");
      const code = [
        "import os",
        "open('gone', 'w').write('x'); os.remove('gone')",
        "open('/tmp/elsewhere', 'w').write('x')",
        "os.symlink('/tmp/elsewhere', 'link')",
        "open('old').read(); os.chmod('old', 0o600)",
      ];
      expect(paths(await run(code.join("\n")))).toEqual([]);
    });

    test("also when the run failed", async () => {
      expect(paths(await run("open('before-error', 'w').write('x')\n1/0"))).toEqual(["before-error"]);
    });

    test("up to a limit, and keeps all files", async () => {
      const result = await run("for n in range(1500): open(f'many-{n:04}', 'w').close()");
      expect(result.artifacts).toHaveLength(100);
      expect(result.leftOut[0]).toMatchObject({ name: "many-0100", reason: "count_limit" });
      expect((await files().list({ prefix: "many-", limit: 10_000 })).files).toHaveLength(1500);
    });

    test("including a large file that was written in pieces, truncated and extended", async () => {
      const code = [
        "import os",
        "piece = bytes(range(256)) * 2000",
        "with open('large', 'wb') as f:",
        "    for _ in range(24): f.write(piece)",
        "    f.truncate(6_000_000); f.seek(9_000_000); f.write(piece)",
        "data = open('large', 'rb').read()",
        "expected = (piece * 24)[:6_000_000] + bytes(3_000_000) + piece",
        "os.remove('large')",
        "same = data == expected",
        "del data, expected",
        "same",
      ];
      expect(await run(code.join("\n"))).toMatchObject({ status: "ok", value: "True" });
    });

    test("without keeping removed files alive", async () => {
      const code =
        "import os\nfor n in range(200):\n    with open('scratch', 'wb') as f: f.write(bytes(5 << 20))\n    os.remove('scratch')";
      expect(await run(code)).toMatchObject({ status: "ok", artifacts: [] });
    });
  });

  describe("has files for the host", () => {
    test("that are uploaded and downloaded unchanged, in any size", async () => {
      const bytes = Buffer.alloc(5_000_001, "abcdefg");
      expect(await files().write("in/deep/data.bin", bytes, { maxBytes: 2 ** 24 })).toEqual({ size: 5_000_001 });
      expect(await value("len(open('in/deep/data.bin', 'rb').read())")).toBe("5000001");
      const { data, size } = await files().read("in/deep/data.bin");
      expect([size, Buffer.from(data).equals(bytes)]).toEqual([5_000_001, true]);
      const part = await files().read("in/deep/data.bin", { start: 3_000_000, end: 3_000_007 });
      expect(Buffer.from(part.data).equals(bytes.subarray(3_000_000, 3_000_007))).toBe(true);
      const pieces: Uint8Array[] = [];
      for await (const piece of (await files().stream("in/deep/data.bin")).data) pieces.push(piece);
      expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
    });

    test("that are no artifacts of the next run after an upload", async () => {
      await files().write("uploaded.txt", Buffer.from("x"), { maxBytes: 10 });
      expect(paths(await run("1"))).toEqual([]);
    });

    test("that replace existing files, and a symlink itself instead of its target", async () => {
      await run("import os\nopen('target', 'w').write('untouched')\nos.symlink('target', 'alias')");
      await files().write("alias", Buffer.from("new"), { maxBytes: 10 });
      expect([await text("alias"), await text("target")]).toEqual(["new", "untouched"]);
    });

    test("that are listed in pages, in order", async () => {
      await run("import os\nos.makedirs('list/b')\nfor n in ('list/c', 'list/a', 'list/b/z'): open(n, 'w').write(n)");
      await run("os.symlink('/etc', 'list/link')\nopen('list/bad\\nname', 'w').close()");
      const first = await files().list({ prefix: "list/", limit: 2 });
      expect(first).toMatchObject({ files: [{ path: "list/a", size: 6 }, { path: "list/b/z" }], next: "list/b/z" });
      const second = await files().list({ prefix: "list/", limit: 2, after: "list/b/z" });
      expect(second).toMatchObject({ files: [{ path: "list/c" }], leftOut: 2, truncated: false });
    });

    test("that are removed one by one", async () => {
      await files().write("away", Buffer.from("x"), { maxBytes: 10 });
      await files().remove("away");
      await expect(files().stat("away")).rejects.toMatchObject({ code: "file_missing" });
      await expect(files().remove("list")).rejects.toMatchObject({ code: "file_refused" });
    });

    test.each(["../tmp/elsewhere", "/tmp/elsewhere", "a/../b", "", "a//b", "a\nb", "a\\b"])(
      "but refuses the name %j",
      async (name) => {
        await expect(files().read(name)).rejects.toMatchObject({ code: "file_refused" });
        await expect(files().write(name, Buffer.from("x"), { maxBytes: 10 })).rejects.toMatchObject({
          code: "file_refused",
        });
      },
    );

    test("and follows no symlink, neither in the path nor at its end", async () => {
      await run(
        "import os\nopen('/tmp/secret', 'w').write('x')\nos.symlink('/tmp', 'out')\nos.symlink('/tmp/secret', 's')",
      );
      for (const path of ["out/secret", "s"]) {
        await expect(files().read(path)).rejects.toMatchObject({ code: "file_refused" });
      }
      await expect(files().write("out/new", Buffer.from("x"), { maxBytes: 10 })).rejects.toMatchObject({
        code: "file_refused",
      });
      expect(await value("os.path.exists('/tmp/new')")).toBe("False");
    });

    test("and keeps no part of an upload that exceeds its limit, fails or fills the disk", async () => {
      const room = "import os\nsorted(os.listdir('.')), os.listdir('/usr/lib/codecell/incoming')";
      const before = await value(room);
      async function* endless() {
        for (;;) yield Buffer.alloc(1_000_000);
      }
      async function* broken() {
        yield Buffer.from("half");
        throw new Error("the sender went away");
      }
      const write = (source: AsyncIterable<Uint8Array>, maxBytes: number) =>
        files().write("new/dir/x", source, { maxBytes });
      await expect(write(endless(), 3_500_000)).rejects.toMatchObject({ code: "too_large" });
      await expect(write(endless(), 2 ** 30)).rejects.toMatchObject({
        code: "too_large",
        message: expect.stringContaining("disk"),
      });
      await expect(write(broken(), 100)).rejects.toThrow("went away");
      expect(await value(room)).toBe(before);
      await files().write("fits", Buffer.alloc(3_000_000), { maxBytes: 2 ** 24 });
      await files().remove("fits");
    });

    test("and reports a file that changes while it is read", async () => {
      await run("open('moving', 'w').write('x' * 5_000_000)");
      const stream = await files().stream("moving");
      await run("open('moving', 'r+').write('y')");
      const reading = (async () => {
        for await (const _ of stream.data);
      })();
      await expect(reading).rejects.toMatchObject({
        code: "file_refused",
        message: expect.stringContaining("changed"),
      });
    });

    test("also after user code has broken os and io", async () => {
      await run("import os, io, builtins\nos.open = os.stat = os.listdir = io.open = None\nopen = None");
      await files().write("anyway", Buffer.from("fine"), { maxBytes: 10 });
      expect(await text("anyway")).toBe("fine");
    });
  });

  describe("recovers its variables after a crash", () => {
    beforeEach(async () => {
      await session.close();
      session = await codecell.openSession();
    });

    test("as they were before the run, and names what is missing", async () => {
      const before = await run("x = 'kept'\nbad = (n for n in range(3))\nopen('f', 'w').write('x')");
      const result = await run(`x = 'changed'\n${crash}`);
      expect(result).toMatchObject({ status: "crashed", state: "recovered", recoveredTo: before.id });
      const notes = result.notes.join(" ");
      expect(notes).toContain("files were not restored");
      expect(notes).toContain("Not restored: bad (");
      expect(await run("import os\nx, 'bad' in globals(), os.listdir('.')")).toMatchObject({
        state: "kept",
        value: "('kept', False, [])",
      });
    });

    test("also those that the host set, and after a restore", async () => {
      await session.set("x", 41);
      await run(crash);
      expect(await value("x + 1")).toBe("42");
      const snapshot = await session.snapshot();
      await session.reset();
      await session.restore(snapshot);
      expect(await run(crash)).toMatchObject({ state: "recovered" });
      expect(await value("x + 1")).toBe("42");
    });

    test("twice in a row, and after a stuck run that was killed", async () => {
      await run("x = 1");
      await run(crash);
      expect(await run(crash)).toMatchObject({ state: "recovered", recoveredTo: 1 });
      const stubborn = "import time\nwhile True:\n    try: time.sleep(1)\n    except BaseException: pass";
      expect(await run(stubborn, { timeoutMs: 200 })).toMatchObject({ status: "timeout", state: "recovered" });
      expect(await value("x")).toBe("1");
    });

    test("also when it dies between two runs", async () => {
      await run("x = 1");
      await run("import os");
      await expect(session.get("os._exit(3)")).rejects.toMatchObject({ code: "cell_lost" });
      const result = await run("x");
      expect(result).toMatchObject({ status: "ok", value: "1" });
      expect(result.notes.join(" ")).toContain("are as they were after run");
    });

    test("but not those that a reset removed", async () => {
      await run("x = 1");
      await run("x");
      await session.reset();
      expect(await run(crash)).toMatchObject({ state: "recovered" });
      expect(await value("'x' in globals()")).toBe("False");
    });

    test("unless they were too large to keep; then they are reported as lost, with the reason", async () => {
      await run("big = [[n] for n in range(300_000)]");
      const result = await run(crash);
      expect(result).toMatchObject({ status: "crashed", state: "lost" });
      expect(result.notes.join(" ")).toContain("not kept: the variables hold more than");
    });

    test("unless the policy turns recovery off", async () => {
      const off = parsePolicy({ ...policy, session: { recovery: "off" } });
      await using plain = await LiveSessions.open({ policy: off, runners: [wasmRunner()] });
      await using other = await plain.openSession();
      await other.run("x = 1");
      expect(await other.run(crash)).toMatchObject({ state: "lost" });
      expect(other.receipt.rules.find(({ rule }) => rule === "session.recovery")?.how).toContain("no snapshot");
    });

    test("and its receipt says that it uses snapshots", () => {
      const rule = session.receipt.rules.find((one) => one.rule === "session.recovery");
      expect(rule?.how).toContain("snapshot");
    });
  });

  test("can be saved and restored, and accepts uploads", async () => {
    const stateDir = await mkdtemp(join(tmpdir(), "codecell-wasm-"));
    await chmod(stateDir, 0o711);
    const open = () =>
      Codecell.open({
        policy: parsePolicy({ ...policy, session: { persist: true } }),
        runners: [wasmRunner()],
        stateDir,
        runtimeDir: join(stateDir, "run"),
      });
    try {
      {
        await using manager = await open();
        const managed = await manager.session("alpha");
        await managed.upload("in.txt", Buffer.from("hello"));
        const result = await managed.run("text = open('in.txt').read()\nopen('out.txt', 'w').write('x')");
        expect(paths(result)).toEqual(["out.txt"]);
        expect((await managed.listFiles()).files.map(({ path }) => path)).toEqual(["in.txt", "out.txt"]);
        expect((await managed.save()).saved).toEqual(["text"]);
      }
      await using manager = await open();
      const back = await (await manager.get("alpha")).run("text");
      expect(back).toMatchObject({ status: "ok", value: "'hello'" });
      expect(back.notes.join(" ")).toContain("variables were restored");
      expect(back.notes.join(" ")).toContain("files were not restored");
    } finally {
      await rm(stateDir, { recursive: true, force: true });
    }
  });
});
