import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
// @ts-expect-error: a script without types
import { isBuilt } from "../scripts/is-built.js";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "codecell-built-"));
  await write("src/lib/one.ts", 100);
  await write("package.json", 100);
  await at("src/lib", 100);
  await at("src", 100);
});
afterEach(() => rm(root, { recursive: true }));

async function write(name: string, second: number): Promise<void> {
  await mkdir(dirname(join(root, name)), { recursive: true });
  await writeFile(join(root, name), "");
  await at(name, second);
}

function at(name: string, second: number): Promise<void> {
  return utimes(join(root, name), second, second);
}

async function build(second: number): Promise<void> {
  await write("dist/bundled/mcp-listings/all.json", second);
  await at("dist/bundled/mcp-listings", second);
}

test("a tree without dist has to be built", () => {
  expect(isBuilt(root)).toBe(false);
});

test("a build that is newer than its sources is not repeated", async () => {
  await build(200);
  expect(isBuilt(root)).toBe(true);
});

test.each([
  ["a source changed", () => at("src/lib/one.ts", 300)],
  ["a source was removed", () => at("src/lib", 300)],
  ["the package's description changed", () => at("package.json", 300)],
])("dist has to be built again after %s", async (_, change) => {
  await build(200);
  await change();
  expect(isBuilt(root)).toBe(false);
});

test("a build that was stopped before its last step is repeated", async () => {
  await write("dist/bundled/index.js", 200);
  expect(isBuilt(root)).toBe(false);
});
