import { mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { RecordedOutputs } from "../../runs/recorded-outputs.ts";
import { StoredOutputs } from "./stored-outputs.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "cc-outputs-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const entry = (run: number, atMs = run) => ({ run, atMs, language: "python", code: "x", status: "ok", durationMs: 1 });
const printed = (text: string): RecordedOutputs => ({
  ...{ events: [{ type: "stdout", text }], value: undefined, error: undefined, leftOutBytes: 0 },
});
const picture = (fill: number, bytes = 10_000): RecordedOutputs => ({
  events: [{ type: "display", display: 1, mime: "image/png", data: Buffer.alloc(bytes, fill) }],
  value: "v",
  error: { name: "E", message: "m", traceback: "t" },
  leftOutBytes: 3,
});
const files = async () => (await readdir(directory, { recursive: true })).sort();
const sizes = async () => {
  const stats = await Promise.all((await files()).map((name) => stat(join(directory, name))));
  return stats.reduce((sum, one) => sum + (one.isFile() ? one.size : 0), 0);
};

describe("StoredOutputs", () => {
  test("gives back what was stored, for the runs that are asked for", async () => {
    const outputs = new StoredOutputs(directory);
    await outputs.append([{ ...entry(1), outputs: printed("one\n\u2028") }]);
    await outputs.append([{ ...entry(2), outputs: picture(7) }]);
    await outputs.append([{ ...entry(3), outputs: printed("three") }]);
    const runs = await new StoredOutputs(directory).read([entry(1), entry(2)]);
    expect(runs).toEqual([
      { ...entry(1), outputs: printed("one\n\u2028") },
      { ...entry(2), outputs: picture(7) },
    ]);
  });

  test("stores the same display once, and a small one in the line", async () => {
    const outputs = new StoredOutputs(directory);
    for (const run of [1, 2, 3]) await outputs.append([{ ...entry(run), outputs: picture(7) }]);
    await outputs.append([{ ...entry(4), outputs: picture(8, 100) }]);
    expect((await readdir(join(directory, "displays"))).length).toBe(1);
    const [, , , last] = await outputs.read([1, 2, 3, 4].map((run) => entry(run)));
    expect(last?.outputs).toEqual(picture(8, 100));
  });

  test("a run without outputs has empty ones, and a run of an older version has none", async () => {
    const [silent, unknown] = await new StoredOutputs(directory).read([{ ...entry(1), isSilent: true }, entry(2)]);
    expect(silent?.outputs).toEqual({ events: [], value: undefined, error: undefined, leftOutBytes: 0 });
    expect(unknown).toEqual(entry(2));
  });

  test("takes the outputs of several runs at once", async () => {
    const outputs = new StoredOutputs(directory);
    await outputs.append([1, 2].map((run) => ({ ...entry(run), outputs: printed(`${run}`) })));
    const runs = await outputs.read([entry(1), entry(2)]);
    expect(runs.map((run) => run.outputs)).toEqual([printed("1"), printed("2")]);
  });

  test("tells two runs with the same number apart", async () => {
    const outputs = new StoredOutputs(directory);
    await outputs.append([{ ...entry(1, 10), outputs: printed("first") }]);
    await outputs.append([{ ...entry(1, 20), outputs: printed("second") }]);
    const runs = await outputs.read([entry(1, 10), entry(1, 20)]);
    expect(runs.map((run) => run.outputs)).toEqual([printed("first"), printed("second")]);
  });

  test("stays within its limits however long the session lives, and keeps the latest outputs", async () => {
    const limits = { textBytes: 4_000, displayBytes: 50_000 };
    let outputs = new StoredOutputs(directory, limits);
    for (let run = 1; run <= 60; run++) {
      if (run % 7 === 0) outputs = new StoredOutputs(directory, limits); // another process
      await outputs.append([{ ...entry(run), outputs: run % 2 ? picture(run) : printed("x".repeat(500)) }]);
    }
    expect(await sizes()).toBeLessThan(2 * 4_000 + 2 * 60_000);
    const [first, last] = await outputs.read([entry(1), entry(60)]);
    expect(first?.outputs).toBeUndefined();
    expect(last?.outputs).toEqual(printed("x".repeat(500)));
  });

  test("shows no display whose file was changed or truncated, and stores it again", async () => {
    const outputs = new StoredOutputs(directory);
    await outputs.append([{ ...entry(1), outputs: picture(7) }]);
    const [name = ""] = await readdir(join(directory, "displays"));
    const path = join(directory, "displays", name);
    await writeFile(path, Buffer.alloc(10_000, 9));
    const [changed] = await outputs.read([entry(1)]);
    expect(changed?.outputs).toMatchObject({ events: [], leftOutBytes: 10_003 });
    await truncate(path, 10);
    await outputs.append([{ ...entry(2), outputs: picture(7) }]);
    expect((await readFile(path)).equals(Buffer.alloc(10_000, 7))).toBe(true);
  });

  test("skips lines that are incomplete or hostile, and keeps those after them", async () => {
    const outputs = new StoredOutputs(directory);
    await outputs.append([{ ...entry(1), outputs: printed("one") }]);
    const path = join(directory, "outputs.jsonl");
    await truncate(path, (await stat(path)).size - 20);
    const hash = "../".repeat(20).concat("etc/passwd").padEnd(64, "x");
    const event = { type: "display", display: 1, mime: "text/plain", sha256: hash, bytes: 1 };
    await writeFile(path, `\n${JSON.stringify({ run: 2, atMs: 2, events: [event], leftOutBytes: 0 })}`, { flag: "a" });
    await outputs.append([{ ...entry(3), outputs: printed("three") }]);
    const runs = await outputs.read([entry(1), entry(2), entry(3)]);
    expect(runs.map((run) => run.outputs)).toEqual([undefined, undefined, printed("three")]);
  });

  test("does not bring back the directory of a session that was removed", async () => {
    const outputs = new StoredOutputs(directory);
    await rm(directory, { recursive: true });
    await expect(outputs.append([{ ...entry(1), outputs: picture(7) }])).rejects.toThrow();
    await expect(readdir(directory)).rejects.toThrow("ENOENT");
  });
});
