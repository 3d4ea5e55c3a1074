import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { CompiledCode } from "../../../lib/files/compiled-code.ts";
import { ScriptLoader, shortHash } from "./script-loader.ts";

let directory: string;
let compiled: CompiledCode;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "codecell-scripts-"));
  compiled = new CompiledCode(join(directory, "compiled"));
});
afterEach(() => rm(directory, { recursive: true }));

async function script(name: string, text: string): Promise<string> {
  const file = join(directory, name);
  await writeFile(file, text);
  return file;
}

test("a script gets its exports, its place and the modules that it requires", async () => {
  await script("part.abcdefgh.cjs", "exports.count = (globalThis.loads = (globalThis.loads ?? 0) + 1);");
  const main = await script(
    "main.cjs",
    `const part = require("./part.abcdefgh.cjs");
     exports.same = part === require("./part.abcdefgh.cjs");
     exports.count = part.count;
     exports.path = require("node:path").join(__dirname, "x");
     exports.file = __filename;`,
  );
  try {
    const loaded = new ScriptLoader(undefined).load(main);
    expect(loaded).toMatchObject({ same: true, count: 1, path: join(directory, "x"), file: main });
  } finally {
    Reflect.deleteProperty(globalThis, "loads");
  }
});

test("scripts can require each other", async () => {
  await script("a.cjs", `const b = require("./b.cjs"); exports.name = "a"; exports.other = () => b.name();`);
  await script("b.cjs", `const a = require("./a.cjs"); exports.name = () => a.name;`);
  const loaded = new ScriptLoader(undefined).load(join(directory, "a.cjs")) as { other(): string };
  expect(loaded.other()).toBe("a");
});

test("only scripts whose name contains a hash of the text are kept compiled", async () => {
  const loader = new ScriptLoader(compiled);
  loader.load(await script("mcp-entrance.cjs", "exports.one = () => 1;"));
  loader.load(await script("part.abcdefgh.cjs", "exports.one = () => 1;"));
  loader.save();
  const name = `part.abcdefgh.cjs.${process.version}-${process.arch}-${shortHash(directory)}`;
  expect(await readdir(join(directory, "compiled"))).toEqual([name]);
});

test("the next loader uses the compiled code, and has nothing to save", async () => {
  const file = await script("part.abcdefgh.cjs", "exports.twice = (x) => 2 * x;");
  const first = new ScriptLoader(compiled);
  first.load(file);
  first.save();
  const second = new ScriptLoader(compiled);
  expect((second.load(file) as { twice(x: number): number }).twice(21)).toBe(42);
  await rm(join(directory, "compiled"), { recursive: true });
  second.save();
  await expect(readdir(join(directory, "compiled"))).rejects.toThrow("ENOENT");
});

test("compiled code that V8 rejects is replaced", async () => {
  const file = await script("part.abcdefgh.cjs", "exports.one = 1;");
  const name = `part.abcdefgh.cjs.${process.version}-${process.arch}-${shortHash(directory)}`;
  compiled.save(new Map([[name, Buffer.from("not compiled by V8")]]));
  const loader = new ScriptLoader(compiled);
  expect(loader.load(file)).toEqual({ one: 1 });
  loader.save();
  expect(compiled.read(name)?.length).toBeGreaterThan(50);
});

test("another installation with the same text does not use code that was compiled for this one", async () => {
  const text = "exports.place = () => new Error().stack;";
  const first = new ScriptLoader(compiled);
  first.load(await script("part.abcdefgh.cjs", text));
  first.save();
  await mkdir(join(directory, "other"));
  const second = new ScriptLoader(compiled).load(await script("other/part.abcdefgh.cjs", text));
  expect((second as { place(): string }).place()).toContain(join(directory, "other", "part.abcdefgh.cjs"));
});
