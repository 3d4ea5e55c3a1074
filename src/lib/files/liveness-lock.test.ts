import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isFree, isHeld, takeLock } from "./liveness-lock.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "lock-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

describe("a liveness lock", () => {
  test("has one holder until it is released", async () => {
    const path = join(directory, "lock");
    const first = await takeLock(path);
    expect(first).toBeDefined();
    expect(await takeLock(path)).toBeUndefined();
    await first?.[Symbol.asyncDispose]();
    expect(await isHeld(path)).toBe(false);
    await using second = await takeLock(path);
    expect(second).toBeDefined();
  });

  test("can be taken after its owner was killed", async () => {
    const path = join(directory, "lock");
    const script = `require("net").createServer().listen(${JSON.stringify(path)}, () => process.stdout.write("up"))`;
    const owner = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
    await once(owner.stdout, "data");
    expect(await isHeld(path)).toBe(true);
    expect(await takeLock(path)).toBeUndefined();
    owner.kill("SIGKILL");
    await once(owner, "exit");
    expect(await isHeld(path)).toBe(false);
    await using taken = await takeLock(path);
    expect(taken).toBeDefined();
  });

  test("is a named pipe where sockets are forbidden, and can also be taken after its owner was killed", async () => {
    const path = join(directory, "lock");
    await promisify(execFile)("mkfifo", [path]);
    expect(await isHeld(path)).toBe(false);
    const script = `require("fs").open(${JSON.stringify(path)}, require("fs").constants.O_RDWR, () => process.stdout.write("up")); setInterval(() => {}, 1000)`;
    const owner = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
    await once(owner.stdout, "data");
    expect(await isHeld(path)).toBe(true);
    expect(await takeLock(path)).toBeUndefined();
    owner.kill("SIGKILL");
    await once(owner, "exit");
    expect(await isHeld(path)).toBe(false);
    await using taken = await takeLock(path);
    expect(taken).toBeDefined();
  });

  test.each(["EMFILE", "ENFILE", "ENOMEM", "EAGAIN", "EPERM", "EACCES"])(
    "counts as held if the check fails with %s, which says nothing about its owner",
    (code) => expect(isFree(code)).toBe(false),
  );

  test.each(["ECONNREFUSED", "ENOENT"])("is free if the check fails with %s", (code) =>
    expect(isFree(code)).toBe(true),
  );

  test("is taken by exactly one of many processes after its owner exited", async () => {
    const path = join(directory, "lock");
    const script = `require("net").createServer().listen(${JSON.stringify(path)}, () => process.exit())`;
    await once(spawn(process.execPath, ["-e", script]), "exit");
    const taken = (await Promise.all(Array.from({ length: 12 }, () => takeLock(path)))).filter(Boolean);
    expect(taken).toHaveLength(1);
    await taken[0]?.[Symbol.asyncDispose]();
    expect(await readdir(directory)).toEqual([]);
  });
});
