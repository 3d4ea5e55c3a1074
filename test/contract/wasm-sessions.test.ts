import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import type { PolicyInput } from "../../src/policy/schema.ts";
import { wasmRunner } from "../../src/runners/wasm/runner.ts";
import { Codecell } from "../../src/sessions/codecell.ts";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import { LiveSessions } from "../../src/sessions/live-sessions.ts";
import type { LiveRunOptions } from "../../src/sessions/runs/live-run-options.ts";
import type { RunResult } from "../../src/sessions/runs/run.ts";
import { readManifest } from "../../src/sessions/storage/snapshot-manifest.ts";
import { stubborn } from "../support/stubborn.ts";
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
  const paths = (result: RunResult) => result.artifacts.map(({ name }) => name);

  describe("saves its variables as a snapshot", () => {
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
      // together more than the memory of the cell
      const code =
        "import os\nfor n in range(80):\n    with open('scratch', 'wb') as f: f.write(bytes(5 << 20))\n    os.remove('scratch')";
      expect(await run(code)).toMatchObject({ status: "ok", artifacts: [] });
    });
  });

  describe("recovers its variables after a crash", () => {
    test("as they were before the run, twice in a row and after a stuck run that was killed, and names what is missing", async () => {
      const before = await run("x = 'kept'\nbad = (n for n in range(3))\nopen('f', 'w').write('x')");
      const result = await run(`x = 'changed'\n${crash}`);
      expect(result).toMatchObject({ status: "crashed", state: "recovered", recoveredTo: before.id });
      const notes = result.notes.join(" ");
      expect(notes).toContain("files were not restored");
      expect(notes).toContain("Not restored: bad (");
      expect(await run(crash)).toMatchObject({ state: "recovered", recoveredTo: before.id });
      expect(await run(stubborn, { timeoutMs: 2_000 })).toMatchObject({ status: "timeout", state: "recovered" });
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

    test("and the notes say first what was lost, then what came back", async () => {
      const before = await run("x = 1");
      expect((await run(crash)).notes).toEqual([
        "The interpreter crashed.",
        "A new interpreter was started, at first without variables, modules and files.",
        `Then a snapshot was restored: its variables are as they were after run ${before.id}; files were not restored.`,
      ]);
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

  test("can be saved and restored with values, functions, classes, modules and files, and accepts uploads", async () => {
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
        const result = await managed.run(
          [
            "import math",
            "text = open('in.txt').read()",
            "rows = [1, 2.5, 'ü']",
            "def half(n): return n / 2",
            "class Point:\n    def __init__(self, x): self.x = x",
            "p = Point(7)",
            "open('out.txt', 'w').write('x')",
          ].join("\n"),
        );
        expect(paths(result)).toEqual(["out.txt"]);
        expect((await managed.listFiles()).files.map(({ path }) => path)).toEqual(["in.txt", "out.txt"]);
        expect((await managed.save()).saved).toEqual(["math", "text", "rows", "half", "Point", "p"]);
      }
      await using manager = await open();
      const alpha = await manager.get("alpha");
      const back = await alpha.run("text, open('in.txt').read(), open('out.txt').read()");
      expect(back).toMatchObject({ status: "ok", value: "('hello', 'hello', 'x')", artifacts: [] });
      expect(back.notes.join(" ")).toContain("variables and files were restored");
      const values = await alpha.run("rows, half(3), p.x, math.floor(2.5)");
      expect(values).toMatchObject({ value: "([1, 2.5, 'ü'], 1.5, 7, 2)", notes: [] });
      // An interpreter that crashes loses the files in its memory: those of the save are put back.
      const crashed = await alpha.run(`open('later', 'w').write('not saved')\n${crash}`);
      expect(crashed.notes.join(" ")).toMatch(/files were restored from the save after run \d/);
      expect(await alpha.run("import os\nsorted(os.listdir('.'))")).toMatchObject({ value: "['in.txt', 'out.txt']" });
    } finally {
      await rm(stateDir, { recursive: true, force: true });
    }
  });
});
