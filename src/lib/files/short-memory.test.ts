import { chmod, chown, mkdtemp, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ShortMemory } from "./short-memory.ts";

let runtimeDir: string;
let file: string;
beforeEach(async () => {
  runtimeDir = await mkdtemp(join(tmpdir(), "short-memory-"));
  file = join(runtimeDir, "remembered-color.json");
});
afterEach(async () => {
  vi.useRealTimers();
  await rm(runtimeDir, { recursive: true, force: true });
});
const memory = () => new ShortMemory("color", { keepMs: 1000, runtimeDir });
const isLinux = process.platform !== "win32";

test("another process recalls what was remembered under the same key, with its age", async () => {
  await memory().remember("sky", { blue: true });
  expect(await memory().recall("sky")).toEqual({ value: { blue: true }, ageMs: expect.any(Number) });
  expect(await memory().recall("sea")).toBeUndefined();
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

test("a memory that is too old, or from the future, is not recalled", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  await memory().remember("sky", 1);
  vi.setSystemTime(Date.now() + 1001);
  expect(await memory().recall("sky")).toBeUndefined();
  await memory().remember("sky", 1);
  vi.setSystemTime(Date.now() - 5000);
  expect(await memory().recall("sky")).toBeUndefined();
});

test("a forgotten memory is not recalled, and forgetting nothing is fine", async () => {
  await memory().remember("sky", 1);
  await memory().forget();
  await memory().forget();
  expect(await memory().recall("sky")).toBeUndefined();
});

test("a damaged file is no memory", async () => {
  await writeFile(file, "{", { mode: 0o600 });
  expect(await memory().recall("sky")).toBeUndefined();
  await memory().remember("sky", 1);
  expect((await memory().recall("sky"))?.value).toBe(1);
});

test.runIf(isLinux).each([
  ["others may write", () => chmod(file, 0o622)],
  ["others may read", () => chmod(file, 0o604)],
  ["is a link", () => rename(file, `${file}.real`).then(() => symlink(`${file}.real`, file))],
  ["is too large", async () => writeFile(file, (await readFile(file, "utf8")) + " ".repeat(100_000))],
])("a file that %s is no memory", async (_, change) => {
  await memory().remember("sky", 1);
  expect(await memory().recall("sky")).toBeDefined();
  await change();
  expect(await memory().recall("sky")).toBeUndefined();
});

test.runIf(process.getuid?.() === 0)("a file that belongs to another user is no memory", async () => {
  await memory().remember("sky", 1);
  await chown(file, 12345, 12345);
  expect(await memory().recall("sky")).toBeUndefined();
});

test("a directory that others may write is neither read nor written", async () => {
  await memory().remember("sky", 1);
  await chmod(runtimeDir, 0o777);
  expect(await memory().recall("sky")).toBeUndefined();
  await memory().remember("sky", 2);
  await chmod(runtimeDir, 0o700);
  expect((await memory().recall("sky"))?.value).toBe(1);
});
