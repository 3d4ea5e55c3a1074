import { mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { noSmallDisk, smallDisk } from "../../../test/support/small-disk.ts";
import { LogFile } from "./log-file.ts";

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "codecell-log-"));
  path = join(directory, "codecell.log");
});
afterEach(() => rm(directory, { recursive: true, force: true }));

test("the log file is appended to, and only its owner can read it", async () => {
  await writeFile(path, "before\n", { mode: 0o600 });
  using file = new LogFile(path);
  file.write("one\n");
  expect(await readFile(path, "utf8")).toBe("before\none\n");
  using other = new LogFile(join(directory, "new.log"));
  other.write("x\n");
  expect((await stat(other.path)).mode & 0o777).toBe(0o600);
});

test("the log file is created again after it was moved or removed", async () => {
  using file = new LogFile(path);
  file.write("one\n");
  await rename(path, `${path}.old`);
  file.write("two\n");
  await rm(path);
  file.write("three\n");
  expect(await readFile(`${path}.old`, "utf8")).toBe("one\n");
  expect(await readFile(path, "utf8")).toBe("three\n");
});

test("a full log file is rotated, and the oldest one is removed", async () => {
  using file = new LogFile(path, { maxBytes: 20, keptFiles: 2 });
  using second = new LogFile(path, { maxBytes: 20, keptFiles: 2 });
  for (let n = 0; n < 10; n++) (n % 2 === 0 ? file : second).write(`line ${n} ..\n`);
  expect((await readdir(directory)).sort()).toEqual(["codecell.log", "codecell.log.1", "codecell.log.2"]);
  expect(await readFile(path, "utf8")).toBe("line 8 ..\nline 9 ..\n");
  expect(await readFile(`${path}.1`, "utf8")).toBe("line 6 ..\nline 7 ..\n");
});

test("a log file that is not a regular file of this user is refused at once", async () => {
  await symlink(join(directory, "elsewhere"), path);
  for (const name of [path, directory, join(directory, "no", "file"), "/dev/null"]) {
    expect(() => new LogFile(name)).toThrow(expect.objectContaining({ code: "usage" }));
  }
  expect(await readdir(directory)).toEqual(["codecell.log"]);
});

describe.skipIf(noSmallDisk !== undefined)(`a log file on a full disk${noSmallDisk ? `: ${noSmallDisk}` : ""}`, () => {
  test("counts lost lines, reports the problem once, and writes the count when there is space", async () => {
    await using disk = await smallDisk("64k");
    const problems: string[] = [];
    using file = new LogFile(join(disk.path, "log"), {
      onProblem: (message) => problems.push(message),
      lostLine: (count) => `lost ${count}\n`,
    });
    for (let n = 0; n < 60; n++) file.write(`${String(n).padStart(2_000, "-")}\n`);
    expect(problems).toEqual([expect.stringMatching(/cannot be written: .*no space left/)]);
    const text = await readFile(file.path, "utf8");
    const whole = text.split("\n").filter((line) => line.length === 2_000).length;
    await rm(file.path);
    file.write("after\n");
    expect(await readFile(file.path, "utf8")).toBe(`lost ${60 - whole}\nafter\n`);
  });
});
