import { chmod, mkdir, mkdtemp, readdir, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { CompiledCode, compiledCodeDirectory } from "./compiled-code.ts";

const data = Buffer.from("compiled");
let runtime: string;
let directory: string;
beforeEach(async () => {
  runtime = await mkdtemp(join(tmpdir(), "codecell-compiled-"));
  directory = join(runtime, "compiled");
});
afterEach(() => rm(runtime, { recursive: true }));

function saved(): CompiledCode {
  const code = new CompiledCode(directory);
  code.save(new Map([["a", data]]));
  return code;
}

test("compiled code is read back from files that only this user can read", async () => {
  expect(saved().read("a")).toEqual(data);
  expect((await stat(directory)).mode & 0o777).toBe(0o700);
  expect((await stat(join(directory, "a"))).mode & 0o777).toBe(0o600);
  expect(await readdir(directory)).toEqual(["a"]);
});

test("compiled code that does not exist is not found", () => {
  expect(new CompiledCode(directory).read("a")).toBeUndefined();
  expect(saved().read("b")).toBeUndefined();
});

test.each(["the directory", "its parent"])("compiled code is not used if others can write to %s", async (which) => {
  const code = saved();
  await chmod(which === "the directory" ? directory : runtime, 0o777);
  expect(code.read("a")).toBeUndefined();
  code.save(new Map([["b", data]]));
  expect(await readdir(directory)).toEqual(["a"]);
});

test("compiled code of another user is not used", () => {
  saved();
  expect(new CompiledCode(directory, (process.getuid?.() ?? 0) + 1).read("a")).toBeUndefined();
});

test("a file that others can write to, a link and a directory are not compiled code", async () => {
  const code = saved();
  await symlink(join(directory, "a"), join(directory, "link"));
  await mkdir(join(directory, "folder"));
  await chmod(join(directory, "a"), 0o622);
  for (const name of ["a", "link", "folder"]) expect(code.read(name), name).toBeUndefined();
});

test("a directory behind a link is not used", async () => {
  saved();
  await symlink(directory, join(runtime, "link"));
  expect(new CompiledCode(join(runtime, "link")).read("a")).toBeUndefined();
});

test("saving removes files that are older than a week", async () => {
  const code = saved();
  const old = new Date(Date.now() - 8 * 24 * 3_600_000);
  await utimes(join(directory, "a"), old, old);
  code.save(new Map([["b", data]]));
  expect(await readdir(directory)).toEqual(["b"]);
});

test("a directory that cannot be created is no failure", async () => {
  await writeFile(join(runtime, "file"), "");
  const code = new CompiledCode(join(runtime, "file", "compiled"));
  expect(() => code.save(new Map([["a", data]]))).not.toThrow();
  expect(code.read("a")).toBeUndefined();
});

test("compiled code is never kept below /tmp, which programs are often given", () => {
  expect(compiledCodeDirectory(1000, "/run/user/1000")).toBe("/run/user/1000/codecell/compiled");
  expect(compiledCodeDirectory(1000, "")).toBeUndefined();
  expect(compiledCodeDirectory(0, "")).toBe("/run/codecell/compiled");
});
