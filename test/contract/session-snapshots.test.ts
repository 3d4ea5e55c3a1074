import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import type { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { readManifest } from "../../src/sessions/storage/snapshot-manifest.ts";
import { openCells, run, skipsProcess, within } from "../support/process-cells.ts";

const layout = { name: "", options: { layout: "template" } } as const;

describe.skipIf(skipsProcess)("a snapshot", () => {
  let codecell: LiveSessions;
  let session: LiveSession;
  let other: LiveSession;
  beforeAll(async () => {
    codecell = await openCells(layout, { proc: { timeout: "4s", memory: "256MiB" } });
    session = await codecell.openSession();
    other = await codecell.openSession();
  });
  beforeEach(() => Promise.all([session.reset(), other.reset()]));
  afterAll(() => codecell?.close());

  const skipped = (data: Buffer) => Object.fromEntries(readManifest(data).skipped.map((one) => [one.name, one.reason]));

  test("restores values, modules, functions and classes in another cell", async () => {
    await run(session, "import math, collections as c\nx = {'a': [1, 2.5, None, b'z']}\ntext = 'ä€😀'");
    await run(
      session,
      "base = 40\ndef add(n):\n    return base + n\nclass Point:\n    def __init__(self, x): self.x = x",
    );
    await run(session, "p = Point(3)\npoints = [Point(1), p]\nnumbers = c.Counter('aab')");
    const data = await session.snapshot();
    expect(await other.restore(data)).toEqual([]);
    const seen = await run(other, "x, text, math.floor(2.5), add(2), p.x, type(p) is Point, numbers['a']");
    expect(seen.value).toBe("({'a': [1, 2.5, None, b'z']}, 'ä€😀', 2, 42, 3, True, 2)");
    expect(readManifest(data).saved.sort()).toEqual(
      ["Point", "add", "base", "c", "math", "numbers", "p", "points", "text", "x"].sort(),
    );
  });

  test("skips values that cannot be pickled, with the reason, and saves the rest", async () => {
    const code = `import threading, sys
good = 1
lock = threading.Lock()
stream = open('f', 'w')
numbers = (n for n in range(3))
class Raises:
    def __reduce__(self): raise RuntimeError('not me')
class Leaves:
    def __reduce__(self): sys.exit(3)
raises, leaves = Raises(), Leaves()
also_good = 2`;
    await run(session, code);
    const data = await session.snapshot();
    expect(skipped(data)).toMatchObject({
      lock: expect.stringContaining("lock"),
      stream: expect.stringContaining("TypeError"),
      numbers: expect.stringContaining("generator"),
      raises: "RuntimeError: not me",
      leaves: expect.stringContaining("SystemExit"),
    });
    await other.restore(data);
    expect(await run(other, "good, also_good")).toMatchObject({ value: "(1, 2)" });
    expect(await run(session, "good, raises is not None")).toMatchObject({ value: "(1, True)" });
  });

  test("skips a value whose pickling never ends, and saves the others", async () => {
    const code = `before = 1
class Loops:
    def __reduce__(self):
        while True: pass
loops = Loops()
after = 2`;
    await run(session, code);
    const data = await within(8_000, session.snapshot());
    expect(skipped(data).loops).toContain("time");
    await other.restore(data);
    expect(await run(other, "before, after")).toMatchObject({ value: "(1, 2)" });
    expect(await run(session, "before")).toMatchObject({ status: "ok", value: "1" });
  });

  test("that crashes the interpreter fails with the name of the value, and the session is unchanged", async () => {
    await run(session, "x = 1\nimport os\nclass Exits:\n    def __reduce__(self): os._exit(3)\nexits = Exits()");
    const failure = session.snapshot();
    await expect(failure).rejects.toMatchObject({ code: "cell_lost" });
    await expect(failure).rejects.toThrow(/exited with code 3.*variables are as they were after run \d+/);
    expect(await run(session, "x")).toMatchObject({ status: "ok", value: "1" });
  });

  test("over its size limit skips values that are too large, and saves the rest", async () => {
    await run(session, "small = 1\nhuge = bytes(60 << 20)\nlast = 2");
    const data = await session.snapshot({ maxBytes: 1 << 20 });
    expect(skipped(data).huge).toContain("bytes");
    expect(data.length).toBeLessThan(1 << 20);
    await other.restore(data);
    expect(await run(other, "small, last")).toMatchObject({ value: "(1, 2)" });
  });

  test("larger than half of the cell's memory does not crash the interpreter", async () => {
    await run(session, "small = 1\nhuge = bytearray(b'x') * (150 << 20)");
    const data = await session.snapshot();
    expect(skipped(data).huge).toBeDefined();
    expect(await run(session, "small, len(huge)")).toMatchObject({
      status: "ok",
      value: `(1, ${150 << 20})`,
      notes: [],
    });
  });

  test("that is truncated or corrupted is refused and changes nothing", async () => {
    await run(session, "x = 'new'\ny = list(range(1000))");
    const data = await session.snapshot();
    await run(other, "x = 'old'");
    for (const cut of [1, 11, 13, 40, data.length - 1]) {
      await expect(other.restore(data.subarray(0, cut))).rejects.toMatchObject({ code: "variable_unserializable" });
    }
    for (const bytes of [
      "[1]",
      "1",
      '"codec"',
      "{}x",
      '{"name":"x","codec":["pickle"]}',
      '{"name":5,"codec":"pickle"}',
      "{",
    ]) {
      await expect(other.restore(entry(bytes))).rejects.toMatchObject({ code: "variable_unserializable" });
    }
    expect(await run(other, "x, 'y' in globals()")).toMatchObject({ value: "('old', False)", notes: [] });
  });

  test("with one damaged value restores the others and names that one", async () => {
    await run(session, "a = 'one'\nb = 'two'");
    const data = Buffer.from(await session.snapshot());
    const at = data.indexOf("one");
    data.fill(0xff, at, at + 3);
    const failed = await other.restore(data);
    expect(failed).toMatchObject([{ name: "a", reason: expect.any(String) }]);
    expect(await run(other, "b, 'a' in globals()")).toMatchObject({ value: "('two', False)" });
  });

  test("whose restore never ends times out, and the session stays usable", async () => {
    const code =
      "class Slow:\n    def __setstate__(self, state):\n        while True: pass\nslow = Slow()\nslow.x = 1\nz = 1";
    await run(session, code);
    const data = await session.snapshot();
    const failed = await within(20_000, other.restore(data, { timeoutMs: 2_000 }));
    expect(failed).toMatchObject([{ name: "slow", reason: expect.stringContaining("time") }]);
    expect(await run(other, "z")).toMatchObject({ status: "ok", value: "1" });
  });
});

function entry(header: string): Buffer {
  const prefix = Buffer.alloc(12);
  prefix.writeUInt32LE(Buffer.byteLength(header));
  return Buffer.concat([prefix, Buffer.from(header)]);
}
