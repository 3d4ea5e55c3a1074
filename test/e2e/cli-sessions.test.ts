import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { codecellHere } from "./codecell-here.ts";
import { availableRunners, CodecellProcess, codecell, type Finished, launcher, living } from "./codecell-process.ts";

const runners = await availableRunners();
let cwd: string;
let env: Record<string, string>;
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), "codecell-e2e-"));
  await chmod(cwd, 0o711); // under root, the cell runs as another user
  env = { XDG_STATE_HOME: join(cwd, "state") };
});
afterAll(() => rm(cwd, { recursive: true }));

const call = (...argv: string[]) => codecellHere(argv, { cwd, env });
const json = ({ stdout }: Finished) => JSON.parse(stdout);

if (!runners.includes("process")) console.warn("skipped: sessions of the command line need the process runner");

describe.skipIf(!runners.includes("process"))("codecell run --session in the process runner", () => {
  const run = (session: string, ...argv: string[]) => call("run", "--runner", "process", "--session", session, ...argv);
  const starting = (session: string, ...argv: string[]) =>
    new CodecellProcess(launcher, ["run", "--runner", "process", "--session", session, ...argv], { cwd, env });
  const start = (session: string, ...argv: string[]) => starting(session, ...argv).finished;

  test("keeps variables, functions, imports and files for the next call, which may be a file, bash or stdin", async () => {
    await writeFile(
      join(cwd, "part.py"),
      "import math\nx = 20\ndef twice(): return x * 2\nopen('notes.txt', 'w').write('hi')\n",
    );
    await writeFile(join(cwd, "part.sh"), "cat notes.txt > b.txt\n");
    expect(await start("keep", "part.py")).toMatchObject({ code: 0, stderr: "codecell: wrote notes.txt (2 B)\n" });
    expect(await run("keep", "part.sh")).toMatchObject({ code: 0, stderr: "codecell: wrote b.txt (2 B)\n" });
    const argv = ["run", "--session", "keep", "--runner", "process", "-"];
    const last = await codecell(argv, { cwd, env, stdin: "twice(), math.floor(2.5), open('b.txt').read()" });
    expect(last).toMatchObject({ code: 0, stdout: "(40, 2, 'hi')\n", stderr: "" });
  });

  test("names what cannot be saved, and the next call says that it is missing", async () => {
    const code = "import socket\ny = 5\nconn = socket.socket()";
    const first = await run("partly", "-c", code);
    expect(first).toMatchObject({ code: 0, stderr: expect.stringMatching(/^codecell: not saved: conn \(.*socket/) });
    const second = await run("partly", "-c", "y, 'conn' in globals()");
    expect(second).toMatchObject({ stdout: "(5, False)\n" });
    expect(second.stderr).toMatch(/^codecell: not restored: conn \(.*\)\n$/);
  });

  test("loses nothing when the interpreter crashes between two calls", async () => {
    await run("crash", "-c", "x = 7; open('kept.txt', 'w').write('kept')");
    const crash = await run("crash", "-c", "x = 0\nimport os; os.kill(os.getpid(), 9)");
    expect(crash.code).not.toBe(0);
    expect(crash.stderr).toContain("codecell: the interpreter crashed");
    expect(await run("crash", "-c", "x, open('kept.txt').read()")).toMatchObject({ code: 0, stdout: "(7, 'kept')\n" });
  });

  test("restores the last save after a crash without a parked copy", async () => {
    await writeFile(join(cwd, "fragile.yaml"), "session: { recovery: off }\n");
    const fragile = (code: string) => run("fragile", "-c", code, "--policy", "fragile.yaml");
    await fragile("x = 7");
    const { stderr } = await fragile("x = 0\nimport os; os.kill(os.getpid(), 9)");
    expect(stderr).toContain("the next run starts from the save after run 1");
    expect(await fragile("x")).toMatchObject({ code: 0, stdout: "7\n" });
  });

  test("keeps the state of a run that Ctrl-C or SIGTERM stops, and continues after kill -9 of codecell itself", async () => {
    /** Says what the program found, changes it, and is stopped by a signal. */
    const stopped = async (x: number, signal: NodeJS.Signals) => {
      const code = `import time; print('found', globals().get('x')); x = ${x}\nprint('going', flush=True)\ntime.sleep(60)`;
      const one = starting("signals", "-c", code);
      await one.printed("going");
      const cell = one.descendants();
      process.kill(one.pid, signal);
      const { code: exitCode, signal: killedBy, stdout } = await one.finished;
      await expect.poll(() => living(cell)).toEqual([]);
      return [stdout.split("\n")[0], exitCode ?? killedBy];
    };
    expect(await stopped(7, "SIGINT")).toEqual(["found None", 130]);
    expect(await stopped(8, "SIGTERM")).toEqual(["found 7", 143]);
    expect(await stopped(9, "SIGKILL")).toEqual(["found 8", "SIGKILL"]);
    expect(await run("signals", "-c", "x")).toMatchObject({ code: 0, stdout: "8\n" });
  });

  test("refuses a second call or removal while a call is running", async () => {
    const waiting =
      "import os, time\nprint('going', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.02)\nx = 1";
    const first = starting("busy", "-c", waiting);
    await first.printed("going");
    const second = await run("busy", "-c", "x");
    expect(second).toMatchObject({
      code: 75,
      stderr: expect.stringContaining("session busy is open in another process"),
    });
    expect(await call("sessions", "rm", "busy")).toMatchObject({ code: 75 });
    expect(json(await call("sessions", "ls", "--json")).sessions[0]).toMatchObject({
      session_id: "busy",
      state: "live",
    });
    await writeFile(join(await workspaceOf("busy"), "go"), "");
    expect(await first.finished).toMatchObject({ code: 0 });
    expect(await run("busy", "-c", "x")).toMatchObject({ code: 0, stdout: "1\n" });
  });

  test("loses nothing that was reported as saved when many calls use a new session at once", async () => {
    const calls = await Promise.all([1, 2, 3].map((n) => start("race", "-c", `v${n} = ${n}`)));
    const won = calls.flatMap(({ code }, index) => (code === 0 ? [`v${index + 1}`] : []));
    expect(won.length).toBeGreaterThan(0);
    expect(calls.every(({ code }) => code === 0 || code === 75)).toBe(true);
    const { stdout } = await run("race", "-c", "sorted(name for name in globals() if name[0] == 'v')");
    expect(stdout).toBe(`[${won.map((name) => `'${name}'`).join(", ")}]\n`);
  });

  test("--json prints the session and the artifacts", async () => {
    const object = json(await run("json", "-c", "z = 1; open('data.csv', 'w').write('a,b\\n')", "--json"));
    expect(object).toMatchObject({ status: "ok", exit_code: 0, left_out: [] });
    expect(object.artifacts).toEqual([
      {
        name: "data.csv",
        size: 4,
        mime_type: "text/csv; charset=utf-8",
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        modified_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      },
    ]);
    expect(object.session_id).toBe("json");
    expect(object.save).toMatchObject({
      snapshot: { session_id: "json", after_run: 1, variables: ["z"], skipped: [] },
      problem: null,
    });
  });

  test("keeps a session that `codecell sessions` can save, restore and remove", async () => {
    await run("life", "-c", "a = 1; b = [2]");
    expect(json(await call("sessions", "save", "life", "--json"))).toMatchObject({
      session_id: "life",
      variables: ["a", "b"],
    });
    const restored = await call("sessions", "restore", "life");
    expect(restored).toMatchObject({ code: 0, stdout: expect.stringContaining("restored 2 variables") });
    const shown = json(await call("sessions", "show", "life", "--json"));
    expect(shown).toMatchObject({ runs: 1, snapshot: { runner: "process" }, history: [{ code: "a = 1; b = [2]" }] });
    const workspace = await workspaceOf("life");
    expect(await call("sessions", "rm", "life")).toMatchObject({ code: 0, stdout: "removed life\n" });
    await expect(readdir(workspace)).rejects.toThrow("ENOENT");
    expect(await call("sessions", "restore", "life")).toMatchObject({ code: 1 });
  });

  test("starts without variables but with files if the save is damaged, and says so", async () => {
    await run("torn", "-c", "x = 1; open('f.txt', 'w').write('f')");
    const directory = join(cwd, "state", "codecell", "sessions", "torn");
    const [name = ""] = (await readdir(directory)).filter((one) => one.startsWith("snapshot-"));
    await writeFile(join(directory, name), "torn");
    expect(await call("sessions", "restore", "torn")).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("damaged"),
    });
    const { code, stdout, stderr } = await run("torn", "-c", "'x' in globals(), open('f.txt').read()");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "(False, 'f')\n" });
    expect(stderr).toContain("the session starts without its variables");
  });

  test("downloads files unchanged, and refuses deceptive names that a program made", async () => {
    const code = [
      "import os",
      "open('data.bin', 'wb').write(bytes(range(256)) * 4096)",
      "open('\\x1b]0;owned\\x07', 'w').write('x')",
      "open('a\\nb', 'w').write('x')",
      "open(b'\\xff', 'w').write('x')",
      "os.symlink('/etc/passwd', 'link'); os.mkfifo('pipe'); None",
    ].join("\n");
    const made = await run("files", "-c", code);
    expect(made.stderr).toContain("codecell: wrote data.bin (1 MiB)\n");
    const listed = await call("artifacts", "ls", "--session", "files");
    expect(listed.stdout).toContain("data.bin");
    for (const { stdout, stderr } of [made, listed]) {
      expect([...(stdout + stderr)].filter((one) => one < " " && one !== "\n")).toEqual([]);
    }
    expect(listed.stderr).toContain("5 entries are not listed");
    const out = join(cwd, "data.bin");
    expect(await call("artifacts", "get", "--session", "files", "data.bin", "-o", out)).toMatchObject({ code: 0 });
    const all = Buffer.concat(
      Array.from({ length: 4096 }, () => Buffer.from(Array.from({ length: 256 }, (_, i) => i))),
    );
    expect((await readFile(out)).equals(all)).toBe(true);
    const range = ["--start", "1000", "--end", "700001", "--force"];
    await call("artifacts", "get", "--session", "files", "data.bin", "-o", out, ...range);
    expect((await readFile(out)).equals(all.subarray(1000, 700_001))).toBe(true);
    for (const name of ["link", "pipe", "../../sessions/files/session.json"]) {
      expect(await call("artifacts", "get", "--session", "files", name)).toMatchObject({ code: 3, stdout: "" });
    }
  });

  test("exits with 141 when the reader of a downloaded file closes the pipe", async () => {
    await run("pipe", "-c", "open('big.txt', 'w').write('line\\n' * 2_000_000)");
    const one = new CodecellProcess(launcher, ["artifacts", "get", "--session", "pipe", "big.txt"], { cwd, env });
    one.child.stdout?.once("data", () => one.child.stdout?.destroy());
    expect(await one.finished).toMatchObject({ code: 141, stderr: "" });
  });

  test("keeps sessions of another state directory separate", async () => {
    const elsewhere = ["--state-dir", "elsewhere"];
    await run("apart", "-c", "x = 1");
    expect(await run("apart", "-c", "'x' in globals()", ...elsewhere)).toMatchObject({ code: 0, stdout: "False\n" });
    const { sessions } = json(await call("sessions", "ls", "--json", ...elsewhere));
    expect(sessions).toMatchObject([{ session_id: "apart", runs: 1 }]);
  });

  async function workspaceOf(id: string): Promise<string> {
    const state = join(cwd, "state", "codecell");
    const { workspace } = JSON.parse(await readFile(join(state, "sessions", id, "session.json"), "utf8"));
    return join(state, "workspaces", workspace);
  }
});

describe.skipIf(!runners.includes("wasm"))("codecell run --session in the wasm runner", () => {
  test("keeps picklable variables and files, and names the others", async () => {
    const run = (code: string) => call("run", "--runner", "wasm", "--session", "w", "-c", code, "--json");
    const first = json(await run("x = 20; open('made.txt', 'w').write('kept')"));
    expect(first).toMatchObject({ status: "ok", exit_code: 0 });
    const second = json(await run("globals().get('x')"));
    if (first.save.snapshot === null)
      expect(first.save.problem).toContain("the wasm runner does not support snapshots");
    else expect(second.value).toBe("20");
    const { code, stdout } = await call("artifacts", "ls", "--session", "w");
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("made.txt") });
  });
});
