import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Codecell } from "../../src/sessions/codecell.ts";
import type { Session } from "../../src/sessions/session.ts";
import { newStateDir, openManager, removeStateDir, runIn } from "../support/managers.ts";
import { skipsProcess } from "../support/process-cells.ts";

describe.skipIf(skipsProcess)("session files", () => {
  let stateDir: string;
  let hostDir: string;
  let manager: Codecell;
  let session: Session;
  beforeAll(async () => {
    stateDir = await newStateDir();
    hostDir = await mkdtemp(join(tmpdir(), "cc-load-"));
    const fs = { load: [hostDir], deny: ["*.secret"] };
    manager = await openManager(stateDir, { fs, proc: { timeout: "20s", disk: "8MiB" } });
    session = await manager.session("files");
  });
  afterAll(async () => {
    await manager?.[Symbol.asyncDispose]();
    await rm(hostDir, { recursive: true, force: true });
    await removeStateDir(stateDir);
  });
  const run = (code: string) => runIn(session, code);
  const names = async (code: string) => (await run(code)).artifacts.map(({ name }) => name).sort();

  test("are in a run's result if the run created or changed them, in any folder", async () => {
    const made = await run(
      "import os\nos.makedirs('a/b')\nopen('a/b/t.csv', 'w').write('x,y')\nopen('top.txt', 'w').write('hi')",
    );
    expect(made.artifacts.map(({ name, size, mimeType }) => ({ name, size, mimeType }))).toEqual([
      { name: "a/b/t.csv", size: 3, mimeType: "text/csv; charset=utf-8" },
      { name: "top.txt", size: 2, mimeType: "text/plain; charset=utf-8" },
    ]);
    expect(made.artifacts[0]?.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(await names("1")).toEqual([]);
    const changed = await run("open('top.txt', 'a').write(' there')");
    expect(changed.artifacts).toMatchObject([{ name: "top.txt", size: 8 }]);
    expect(changed.artifacts[0]?.sha256).not.toBe(made.artifacts[1]?.sha256);
    expect(await names("os.rename('top.txt', 'moved.txt')")).toEqual(["moved.txt"]);
    expect(await names("os.remove('moved.txt')")).toEqual([]);
    expect(await names("open('gone', 'w').write('x'); os.remove('gone')")).toEqual([]);
  });

  test("of a run that failed, was killed or used bash are in the result too", async () => {
    expect(await names("open('failed.txt', 'w').write('x')\n1/0")).toEqual(["failed.txt"]);
    expect(await names("open('killed.txt', 'w').write('x')\nimport os\nos._exit(1)")).toEqual(["killed.txt"]);
    const shell = await runIn(session, "echo hi > shell.txt", { language: "bash" });
    expect(shell.artifacts).toMatchObject([{ name: "shell.txt" }]);
  });

  test("over the disk limit end their session, and the result names the limit", async () => {
    const full = await manager.session("full");
    const code = "for n in range(32): open(str(n), 'wb').write(bytes(1 << 20))\nimport time\nwhile True: time.sleep(1)";
    const { status, state, notes } = await runIn(full, code);
    expect({ status, state }).toEqual({ status: "crashed", state: "lost" });
    expect(notes).toContain("the cell exited: its files exceed proc.disk (8MiB)");
  });

  test("that are symlinks, pipes or badly named are never followed or returned", async () => {
    const code = `import os, socket
os.symlink('/etc/passwd', 'link.txt')
os.symlink('/etc', 'linkdir')
os.mkfifo('pipe')
socket.socket(socket.AF_UNIX).bind('sock')
open('bad\\nname', 'w').write('x')
open('plain.txt', 'w').write('x')`;
    const result = await run(code);
    expect(result.artifacts.map(({ name }) => name)).toEqual(["plain.txt"]);
    expect(result.leftOut).toMatchObject([{ reason: "bad_name" }]);
    const files = await session.files();
    for (const name of ["link.txt", "linkdir/passwd", "pipe", "../../etc/passwd", "sock"]) {
      await expect(files.read(name)).rejects.toMatchObject({ code: "file_refused" });
    }
  });

  test("that the host uploaded are not artifacts of the next run", async () => {
    await session.upload("given.txt", Buffer.from("given"));
    expect(await run("open('given.txt').read()")).toMatchObject({ value: "'given'", artifacts: [] });
    await session.upload("given.txt", Buffer.from("given"));
    expect(await names("open('given.txt', 'a').write('!')")).toEqual(["given.txt"]);
  });

  test("in large numbers do not slow down a run that does not touch them", async () => {
    const many = await manager.session("many");
    await runIn(
      many,
      "import os\nfor d in range(10):\n    os.mkdir(f'd{d}')\n    for n in range(1000): open(f'd{d}/f{n}', 'w').close()",
    );
    await runIn(many, "1");
    const took: number[] = [];
    for (let round = 0; round < 15; round++) {
      const result = await runIn(many, "open('one.txt', 'w').write('x')");
      expect(result.artifacts).toHaveLength(1);
      took.push(result.durationMs);
    }
    // checking each file would slow down every run; other load on the machine slows down only some
    expect(Math.min(...took)).toBeLessThan(25);
    await manager.closeSession("many");
  });

  test("are uploaded completely or not at all", async () => {
    const pieces = async function* () {
      for (let n = 0; n < 20; n++) yield Buffer.alloc(1 << 20, 1);
    };
    await expect(session.upload("in/deep/huge.bin", pieces())).rejects.toMatchObject({ code: "too_large" });
    const stalled = async function* () {
      yield Buffer.from("half");
      throw new Error("the sender went away");
    };
    await expect(session.upload("in/deep/half.bin", stalled())).rejects.toMatchObject({
      cause: { message: "the sender went away" },
    });
    expect(await run("import os\nos.path.exists('in')")).toMatchObject({ value: "False" });
    await run("os.mkdir('folder')");
    await expect(session.upload("folder", Buffer.from("x"))).rejects.toMatchObject({ code: "file_refused" });
    await expect(session.upload("../out", Buffer.from("x"))).rejects.toMatchObject({ code: "file_refused" });
    expect(await session.upload("in/fine.bin", Buffer.from("fine"))).toEqual({ size: 4 });
    expect(await run("open('in/fine.bin', 'a').write('!'), open('in/fine.bin').read()")).toMatchObject({
      value: "(1, 'fine!')",
    });
  });

  test("from the host can be loaded by every form of rule in fs.load", async () => {
    await writeFile(join(hostDir, "data.txt"), "one\ntwo\n");
    await writeFile(join(hostDir, "data.json"), '{"big": 12345678901234567890, "list": [1, 2.5]}');
    await writeFile(join(hostDir, "data.jsonl"), '{"a": 1}\n\n{"a": 2}\n');
    await writeFile(join(hostDir, "data.csv"), 'name,n\n"a, b",1\n');
    await session.load(join(hostDir, "data.txt"), "text");
    await session.load(join(hostDir, "data.txt"), "lines", "lines");
    await session.load(join(hostDir, "data.txt"), "raw", "bytes");
    await session.load(join(hostDir, "data.json"), "value", "json");
    await session.load(join(hostDir, "data.jsonl"), "values", "jsonl");
    expect(await session.load(join(hostDir, "data.csv"), "rows", "csv")).toEqual({ bytes: 16 });
    const seen = await run("text, lines, raw, value['big'], values, rows");
    expect(seen.value).toBe(
      "('one\\ntwo\\n', ['one', 'two'], b'one\\ntwo\\n', 12345678901234567890, [{'a': 1}, {'a': 2}], [{'name': 'a, b', 'n': '1'}])",
    );
  });

  test("from the host are refused outside fs.load, behind symlinks and under fs.deny", async () => {
    await mkdir(join(hostDir, "sub"), { recursive: true });
    await writeFile(join(hostDir, "sub", "key.secret"), "secret");
    await symlink("/etc/passwd", join(hostDir, "link"));
    for (const path of ["/etc/passwd", join(hostDir, "link"), join(hostDir, "../x"), join(hostDir, "sub/key.secret")]) {
      await expect(session.load(path, "stolen")).rejects.toMatchObject({ code: "file_refused" });
    }
    await expect(session.load(join(hostDir, "none"), "stolen")).rejects.toMatchObject({ code: "file_missing" });
    await expect(session.load(join(hostDir, "data.csv"), "bad", "json")).rejects.toMatchObject({ code: "usage" });
    expect(await run("'stolen' in globals() or 'bad' in globals()")).toMatchObject({ value: "False" });
  });
});

describe.skipIf(skipsProcess || process.getuid?.() !== 0)("an upload by root", () => {
  test("into a directory of the policy belongs to that directory's owner", async () => {
    const stateDir = await newStateDir();
    const workspace = await newStateDir();
    execFileSync("chown", ["12345:12345", workspace]);
    const manager = await openManager(stateDir, { fs: { workspace } });
    try {
      const session = await manager.session("own");
      await session.upload("x.txt", Buffer.from("x"));
      expect(await runIn(session, "open('x.txt', 'a').write('y'), open('x.txt').read()")).toMatchObject({
        value: "(1, 'xy')",
      });
    } finally {
      await manager[Symbol.asyncDispose]();
      await removeStateDir(workspace);
      await removeStateDir(stateDir);
    }
  });
});
