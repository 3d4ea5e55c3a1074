import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ShortMemory } from "../../../lib/files/short-memory.ts";
import { findPython, type PythonInstallation } from "./python.ts";
import { recallPython, rememberPython } from "./remembered-python.ts";

const candidate = "/usr/bin/python3";
const found = await findPython(candidate).catch(() => undefined);
const isPlain = found !== undefined && found.mounts.length === 0;

let runtimeDir: string;
let memory: ShortMemory;
beforeEach(async () => {
  runtimeDir = await mkdtemp(join(tmpdir(), "remembered-python-"));
  memory = new ShortMemory("python", { keepMs: 60_000, runtimeDir });
});
afterEach(() => rm(runtimeDir, { recursive: true, force: true }));

describe.skipIf(!isPlain)("a remembered Python below /usr", () => {
  const python = found as PythonInstallation;

  test("is the same as the one that was examined", async () => {
    await rememberPython(memory, candidate, python);
    expect(await recallPython(memory, candidate)).toEqual(python);
    expect(await recallPython(memory, "/usr/bin/python3-other")).toBeUndefined();
  });

  test("is examined again after its directories have changed", async () => {
    await rememberPython(memory, candidate, python);
    await edited((value) => ({ ...value, stamp: value.stamp.replace(/\d+/, "1") }));
    expect(await recallPython(memory, candidate)).toBeUndefined();
  });

  test.each([
    ["imports from another place", { path: ["/home/someone/lib"] }],
    ["imports from another place through ..", { path: ["/usr/lib/../../home/someone"] }],
    ["has mounts", { mounts: [{ source: "/home", target: "/opt/python" }] }],
    ["names another program", { executable: "/usr/bin/env" }],
  ])("is not believed if the memory %s", async (_, change) => {
    await rememberPython(memory, candidate, python);
    await edited((value) => ({ ...value, ...change }));
    expect(await recallPython(memory, candidate)).toBeUndefined();
  });

  test("is not remembered if its cells need mounts", async () => {
    await rememberPython(memory, candidate, { ...python, mounts: [{ source: "/opt/x", target: "/opt/python" }] });
    expect(await recallPython(memory, candidate)).toBeUndefined();
  });
});

test("an interpreter outside /usr is not recalled", async () => {
  const outside = join(runtimeDir, "python3");
  await writeFile(outside, "");
  await chmod(outside, 0o755);
  const value = { version: [3, 11, 2], bytecode: "x", path: [], places: [], stamp: "" };
  await memory.remember(outside, value);
  expect(await recallPython(memory, outside)).toBeUndefined();
});

async function edited(change: (value: { stamp: string }) => object): Promise<void> {
  const file = join(runtimeDir, "remembered-python.json");
  const stored = JSON.parse(await readFile(file, "utf8"));
  await writeFile(file, JSON.stringify({ ...stored, value: change(stored.value) }));
}
