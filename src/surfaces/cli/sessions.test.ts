import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type FakeOptions, FakeRunner } from "../../../test/fakes/fake-runner.ts";
import { FakeTerminal, type FakeTerminalOptions } from "../../../test/fakes/fake-terminal.ts";
import { FileSessionStore } from "../../sessions/storage/files/file-session-store.ts";
import type { SessionRecord } from "../../sessions/storage/session-record.ts";
import { main } from "./main.ts";

let cwd: string;
let state: string;

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), "codecell-sessions-"));
  await chmod(cwd, 0o711);
  state = join(cwd, "state");
});
afterEach(() => rm(cwd, { recursive: true, force: true }));

/** Without `fake`, creating the runners throws: commands that only read must not need them. */
async function cli(argv: string[], options: FakeTerminalOptions = {}, fake?: FakeOptions) {
  const terminal = new FakeTerminal({ cwd, ...options });
  const runners = () => {
    if (!fake) throw new Error("the command created runners");
    return [new FakeRunner(fake)];
  };
  const code = await main([...argv, "--state-dir", "state"], { terminal, runners });
  const { stdout, stderr } = terminal;
  return { code, stdout: stdout.text, stderr: stderr.text, bytes: stdout.bytes };
}

/** Creates a session with files on disk, without running a program. */
async function keep(id: string, files: Record<string, string | Buffer> = {}, facts: Partial<SessionRecord> = {}) {
  const store = await FileSessionStore.open(state);
  const workspace = facts.workspace ?? `m000000000000-${id}`;
  const directory = join(store.workspaces.directory, workspace);
  await mkdir(directory, { recursive: true });
  for (const [name, content] of Object.entries(files)) await writeFile(join(directory, name), content);
  await using held = await store.lock(id);
  await held.write({ version: 1, id, workspace, createdMs: 0, usedMs: 0, runs: 0, snapshot: undefined, ...facts });
  return { store, directory };
}

describe("codecell sessions", () => {
  test("lists nothing without a state directory, and does not create one", async () => {
    expect(await cli(["sessions", "ls"])).toMatchObject({ code: 0, stdout: "no sessions\n" });
    expect(JSON.parse((await cli(["sessions", "ls", "--json"])).stdout)).toEqual({ sessions: [] });
    expect(await readdir(cwd)).toEqual([]);
  });

  test("reports disk_failed with a hint if the state directory is a file", async () => {
    await writeFile(state, "");
    const message = `${state} cannot be used: there is a file where a directory is needed`;
    const run = await cli(["run", "--session", "work", "-c", "1"], {}, {});
    expect(run).toMatchObject({
      code: 74,
      stderr: expect.stringContaining(`codecell: ${message}\nhint: move that file`),
    });
    const json = await cli(["run", "--session", "work", "-c", "1", "--json"], {}, {});
    expect(JSON.parse(json.stdout)).toMatchObject({ error: { code: "disk_failed", message } });
    for (const command of ["token create --name a", "token ls", "audit verify", "audit tail"]) {
      const { code, stderr } = await cli(command.split(" "));
      expect({ command, code, stderr }).toMatchObject({
        code: 74,
        stderr: expect.stringContaining("cannot be used: "),
      });
      expect(stderr).not.toMatch(/internal|E[A-Z]+:/);
    }
  });

  test("does not suggest --force if the output path is a directory", async () => {
    await keep("work", { "a.txt": "a" });
    const { code, stderr } = await cli(["artifacts", "get", "--session", "work", "a.txt", "--output", "."]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: "codecell: . is a directory\n" });
  });

  test("leaves no files of a session whose first record could not be written", async () => {
    const store = await FileSessionStore.open(state);
    const record = {
      version: 1 as const,
      id: "new",
      workspace: "w",
      createdMs: 0,
      usedMs: 0,
      runs: 0,
      snapshot: undefined,
    };
    // JSON has no such number, so writing the record fails after its directory was created
    await using held = await store.lock("new");
    await expect(held.write({ ...record, runs: 1n as unknown as number })).rejects.toThrow();
    expect(await store.list()).toEqual([]);
  });

  test("lists the last used session first, and shows one with its history and files", async () => {
    await keep("old", {}, { usedMs: 1 });
    const { store } = await keep("new", { "a.txt": "hello" }, { usedMs: 2, runs: 2 });
    const entry = { atMs: 1, language: "python", code: "print(1)", status: "ok", durationMs: 1 };
    {
      await using held = await store.lock("new");
      for (const run of [1, 2]) await held.appendHistory({ run, ...entry });
    }
    const { sessions } = JSON.parse((await cli(["sessions", "ls", "--json"])).stdout);
    expect(sessions.map((one: { session_id: string }) => one.session_id)).toEqual(["new", "old"]);
    const shown = JSON.parse((await cli(["sessions", "show", "new", "--history", "1", "--json"])).stdout);
    expect(shown).toMatchObject({ session_id: "new", state: "saved", runs: 2, snapshot: null, next: null });
    expect(shown.history).toMatchObject([{ run: 2, code: "print(1)" }]);
    expect(shown.files).toMatchObject([{ name: "a.txt", size: 5 }]);
    expect((await cli(["sessions", "show", "new"])).stdout).toContain("a.txt");
  });

  test("removes the sessions it can, and reports the others", async () => {
    const { directory, store } = await keep("one", { "a.txt": "x" });
    const { code, stdout, stderr } = await cli(["sessions", "rm", "nope", "one"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "removed one\n" });
    expect(stderr).toContain('there is no session "nope"\nhint: `codecell sessions ls`');
    expect(await store.list()).toEqual([]);
    await expect(readdir(directory)).rejects.toThrow("ENOENT");
    await keep("two");
    const json = await cli(["sessions", "rm", "two", "../two", "--json"]);
    expect(json.code).toBe(2);
    expect(JSON.parse(json.stdout)).toMatchObject({
      removed: [{ session_id: "two", files: "removed" }],
      failed: [{ session_id: "../two", error: { code: "usage" } }],
    });
  });

  test("lists a damaged session, refuses to show it and removes it", async () => {
    const { store } = await keep("bad");
    await writeFile(join(state, "sessions", "bad", "session.json"), '{"version": 1, "id"');
    await mkdir(join(state, "sessions", "empty"));
    const { sessions } = JSON.parse((await cli(["sessions", "ls", "--json"])).stdout);
    expect(sessions).toMatchObject([
      { session_id: "bad", state: "damaged" },
      { session_id: "empty", state: "damaged" },
    ]);
    const shown = await cli(["sessions", "show", "bad"]);
    expect(shown).toMatchObject({ code: 1, stderr: expect.stringContaining("codecell sessions rm bad") });
    expect(await cli(["sessions", "rm", "bad", "empty"])).toMatchObject({
      code: 0,
      stdout: "removed bad\nremoved empty\n",
    });
    expect(await store.list()).toEqual([]);
  });

  test.each([
    [["sessions", "show"], "needs ID"],
    [["sessions", "rm"], "needs an ID"],
    [["sessions", "show", "x", "--history", "-1"], "codecell help sessions show"],
    [["sessions", "show", "x", "--history", "1e3"], "not a whole number"],
    [["artifacts", "ls"], "needs SESSION"],
    [["artifacts", "get", "--session", "x"], "needs NAME"],
    [["artifacts", "rm", "a.txt"], "needs SESSION and NAME"],
    [["artifacts", "rm", "--session", "x"], "needs a NAME"],
    [["artifacts", "get", "--session", "x", "n", "--start", "9", "--end", "3"], "of at least 9"],
    [["artifacts", "get", "--session", "x", "n", "--json"], "--output FILE"],
    [["run", "-c", "1", "--session", "../x"], "invalid session id"],
  ])("rejects the arguments %j as a usage error", async (argv, message) => {
    const { code, stdout, stderr } = await cli(argv);
    expect({ code, output: stdout + stderr }).toEqual({ code: 2, output: expect.stringContaining(message) });
  });
});

describe("codecell artifacts", () => {
  test("deletes files and reports those that it cannot delete", async () => {
    const { directory } = await keep("work", { "a.txt": "a", "b.txt": "b", "c.txt": "c" });
    await mkdir(join(directory, "sub"));
    await writeFile(join(cwd, "outside.txt"), "kept");
    await symlink(join(cwd, "outside.txt"), join(directory, "link"));
    const rm = (...argv: string[]) => cli(["artifacts", "rm", "--session", "work", ...argv]);
    expect(await rm("a.txt", "link")).toMatchObject({ code: 0, stdout: "removed a.txt\nremoved link\n", stderr: "" });
    expect(await readFile(join(cwd, "outside.txt"), "utf8")).toBe("kept");
    const { code, stdout, stderr } = await rm("missing", "sub", "../outside.txt", "b.txt");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "removed b.txt\n" });
    expect(stderr).toContain("missing does not exist");
    expect(stderr).toContain("sub is a directory");
    expect(JSON.parse((await rm("c.txt", "missing", "--json")).stdout)).toEqual({
      session_id: "work",
      removed: ["c.txt"],
      failed: [{ name: "missing", error: expect.objectContaining({ code: "file_missing" }) }],
    });
    expect(await readdir(directory)).toEqual(["sub"]);
    const audited = await cli(["audit", "tail", "--json"]);
    expect(audited.stdout).toContain('"file.deleted"');
  });

  const bytes = Buffer.from(Array.from({ length: 2000 }, (_, index) => index % 256));

  test("lists files in pages, without links and names with control characters", async () => {
    const { directory } = await keep("work", { "a.txt": "1", "b.txt": "22", "c\u001b[2J": "", "d.txt": "" });
    await symlink("/etc/passwd", join(directory, "link"));
    const first = await cli(["artifacts", "ls", "--session", "work", "--limit", "2"]);
    expect(first.stdout.match(/\S+\.txt/g)).toEqual(["a.txt", "b.txt"]);
    expect(first.stderr).toContain('continue with --after "b.txt"');
    expect(first.stderr).toContain("2 entries are not listed");
    const rest = JSON.parse((await cli(["artifacts", "ls", "--session", "work", "--after", "b.txt", "--json"])).stdout);
    expect(rest).toMatchObject({ files: [{ name: "d.txt", size: 0 }], next: null, truncated: false });
  });

  test("gets a whole file or a range of it, byte for byte", async () => {
    await keep("work", { "data.bin": bytes });
    const get = (...argv: string[]) => cli(["artifacts", "get", "--session", "work", "data.bin", ...argv]);
    expect((await get()).bytes).toEqual(bytes);
    expect((await get("--start", "3", "--end", "6")).bytes).toEqual(bytes.subarray(3, 6));
    expect((await get("--start", "1990", "--end", "9999", "-o", "-")).bytes).toEqual(bytes.subarray(1990));
    expect((await get("--output", "out.bin")).stdout).toBe("wrote out.bin (2 KiB)\n");
    expect(await readFile(join(cwd, "out.bin"))).toEqual(bytes);
    expect(await get("--output", "out.bin")).toMatchObject({ code: 2, stderr: expect.stringContaining("--force") });
    const forced = await get("--output", "out.bin", "--force", "--end", "5", "--json");
    expect(JSON.parse(forced.stdout)).toMatchObject({ name: "data.bin", size: 2000, bytes: 5 });
    expect(await readFile(join(cwd, "out.bin"))).toEqual(bytes.subarray(0, 5));
    expect(await get("--output", "no/such/out.bin")).toMatchObject({ code: 2 });
  });

  test("prints a file as safe text on a terminal, unless forced", async () => {
    const attack = "é\u001b]52;c;cm0=\u0007\n";
    await keep("work", { "data.bin": bytes, "notes.txt": attack });
    const get = (...argv: string[]) => cli(["artifacts", "get", "--session", "work", ...argv], { isTTY: true });
    expect((await get("notes.txt")).bytes.toString()).toBe("é^[]52;c;cm0=^G\n");
    const refused = await get("data.bin");
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("not text") });
    expect(refused.bytes).toHaveLength(0);
    expect((await get("data.bin", "--force")).bytes).toEqual(bytes);
  });

  test.each([
    ["missing.txt", 1],
    ["link", 3],
    ["../../sessions/work/session.json", 3],
    ["/etc/passwd", 3],
    ["a\u001b[2J", 3],
  ])("refuses to get %j", async (name, expected) => {
    const { directory } = await keep("work");
    await symlink("/etc/passwd", join(directory, "link"));
    const { code, bytes: got, stderr } = await cli(["artifacts", "get", "--session", "work", name]);
    expect({ code, got }).toEqual({ code: expected, got: Buffer.alloc(0) });
    expect(stderr).not.toContain("\u001b");
  });

  test("is not supported for a session without a workspace on this host", async () => {
    const { directory } = await keep("work");
    await rm(directory, { recursive: true });
    const { code, stderr } = await cli(["artifacts", "ls", "--session", "work"]);
    expect({ code, stderr }).toEqual({ code: 4, stderr: expect.stringContaining("has no workspace on this host") });
  });
});

describe("run --session with a runner that cannot save", () => {
  const program: FakeOptions["program"] = (cell) => ({ result: `<${cell.code}>`, exitCode: 0 });

  test("runs the code, reports that nothing was saved, and keeps the history", async () => {
    const first = await cli(["run", "--session", "work", "-c", "one"], {}, { program });
    expect(first).toMatchObject({ code: 0, stdout: "<one>\n" });
    expect(first.stderr).toContain(
      "codecell: the variables were not saved: the wasm runner does not support snapshots",
    );
    const second = await cli(["run", "--session", "work", "-c", "two", "--json"], {}, { program });
    const { exit_code, artifacts, session_id, save } = JSON.parse(second.stdout);
    expect({ exit_code, artifacts }).toEqual({ exit_code: 0, artifacts: [] });
    expect(session_id).toBe("work");
    expect(save).toEqual({ snapshot: null, problem: expect.stringContaining("not saved") });
    const shown = JSON.parse((await cli(["sessions", "show", "work", "--json"])).stdout);
    expect(shown).toMatchObject({
      runs: 2,
      history: [
        { run: 1, code: "one" },
        { run: 2, code: "two" },
      ],
      files: null,
    });
    expect(await cli(["artifacts", "ls", "--session", "work"])).toMatchObject({ code: 4 });
  });

  test("reports after a loss which state the next run starts from", async () => {
    const lost: FakeOptions["program"] = () => ({ status: "crashed", state: "lost", notes: ["it fell over"] });
    const { code, stderr } = await cli(["run", "--session", "work", "-c", "x"], {}, { program: lost });
    expect(code).toBe(1);
    expect(stderr).toContain("codecell: it fell over\n");
    expect(stderr).toContain("codecell: the variables are lost, and there is no earlier save; files are kept\n");
  });

  test("saves and restores nothing, and names the runner", async () => {
    await keep("work");
    expect(await cli(["sessions", "save", "work"], {}, {})).toMatchObject({
      code: 4,
      stderr: expect.stringContaining("does not support snapshots"),
    });
    expect(await cli(["sessions", "restore", "work"], {}, {})).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("no saved variables"),
    });
    expect(await cli(["sessions", "restore", "nope"], {}, {})).toMatchObject({ code: 1 });
  });
});
