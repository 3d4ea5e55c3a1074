import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { codecellHere } from "./codecell-here.ts";
import { availableRunners, CodecellProcess, codecell, launcher } from "./codecell-process.ts";

const runners = await availableRunners();
const runner = runners.includes("process") ? "process" : "wasm";

let cwd: string;
let env: Record<string, string>;
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), "cc-ps-"));
  await chmod(cwd, 0o711); // cells of root have another user, who must be able to enter
  env = { XDG_RUNTIME_DIR: cwd, XDG_STATE_HOME: join(cwd, "state") };
});
afterEach(() => rm(cwd, { recursive: true, force: true }));

const call = (...argv: string[]) => codecellHere(argv, { cwd, env });
/** `codecell ps` reads the directory of its own process, so it is told that of the processes that the test starts. */
const shown = async (...argv: string[]) => (await call("ps", "--runtime-dir", join(cwd, "codecell"), ...argv)).stdout;
const ps = async (...argv: string[]) => JSON.parse(await shown("--json", ...argv));

test("codecell ps shows a session while its program runs, and nothing of a process that was killed", async () => {
  expect(await shown()).toContain("no live sessions");
  const code = "print('begun', flush=True)\nimport time\ntime.sleep(60)";
  const running = new CodecellProcess(launcher, ["run", "--session", "demo", "--runner", runner, "-c", code], {
    cwd,
    env,
  });
  await running.printed("begun");
  const { sessions, processes } = await ps();
  expect(sessions).toMatchObject([
    {
      session_id: "demo",
      state: "running",
      runner,
      runs: 1,
      persistent: true,
      process: { pid: running.pid, command: "run" },
    },
  ]);
  expect(processes).toMatchObject([{ pid: running.pid, command: "run", sessions: 1 }]);
  expect((await codecell(["ps"], { cwd, env })).stdout).toMatch(
    new RegExp(
      `^SESSION +RUNNER +STATE +AGE +MEMORY +RUNS +PROCESS\\ndemo +${runner} +running \\d+s .* run ${running.pid}\\n$`,
    ),
  );
  expect(await shown("-q")).toBe("demo\n");
  expect((await codecell(["logs", "demo"], { cwd, env })).stdout).toMatch(
    /demo#1 started \(python\)\n {4}print\('begun'.*\n.*\n.*\n +no end is recorded/,
  );
  process.kill(running.pid, "SIGKILL");
  await running.finished;
  expect(await ps()).toMatchObject({ sessions: [], processes: [] });
  expect((await ps("--all")).sessions).toMatchObject([{ session_id: "demo", state: "saved", process: null }]);
});

test("codecell ps shows the session of a repl, and codecell ps --all a service without sessions", async () => {
  const repl = spawn(process.execPath, [launcher, "repl", "--runner", runner], {
    cwd,
    env: { ...process.env, ...env },
  });
  repl.stdin.write("6 * 7\n");
  let printed = "";
  while (!printed.includes("42")) printed += (await once(repl.stdout, "data"))[0];
  expect((await ps()).sessions).toMatchObject([
    { process: { pid: repl.pid, command: "repl" }, runs: 1, persistent: false },
  ]);
  const service = new CodecellProcess(launcher, ["serve", "--port", "0", "--runner", runner], { cwd, env });
  await service.printed("serving ");
  const pids = (facts: { processes: { pid: number }[] }) => facts.processes.map(({ pid }) => pid);
  expect(pids(await ps())).toEqual([repl.pid]);
  expect(pids(await ps("--all"))).toEqual([repl.pid, service.pid]);
  expect(await shown("--all")).toMatch(new RegExp(`\\n- .* no session .* serve ${service.pid}\\n$`));
  process.kill(service.pid, "SIGTERM");
  await service.finished;
  const exited = once(repl, "exit");
  repl.stdin.end();
  await exited;
  expect(await ps("--all")).toEqual({ sessions: [], processes: [], unreachable_processes: 0 });
});

test("codecell logs shows what ran in a session and how it ended, and follows it", async () => {
  const run = (code: string) => call("run", "--session", "demo", "--runner", runner, "-c", code);
  await run("x = 1\nprint(x)");
  await run("1/0");
  const { stdout } = await call("logs", "demo");
  expect(stdout).toMatch(
    /demo#1 started \(python\)\n {4}x = 1\n {4}print\(x\)\n(1\n)?.*demo#1 ok in \d+ ms, printed 2 B/,
  );
  expect(stdout).toMatch(/demo#2 error in \d+ ms, ZeroDivisionError, exit code 1\n$/);
  const follower = new CodecellProcess(launcher, ["logs", "demo", "-f", "--tail", "1"], { cwd, env });
  await follower.printed("demo#2 error");
  await codecell(["run", "--session", "demo", "--runner", runner, "-c", "'third'"], { cwd, env });
  await follower.printed("demo#3 ok");
  process.kill(follower.pid, "SIGINT");
  const followed = await follower.finished;
  expect(followed.code).toBe(130);
  expect(followed.stdout).not.toContain("demo#1");
  expect(followed.stdout.match(/demo#3/g)).toHaveLength(2);
  const runs = (await call("logs", "--json", "--tail", "2")).stdout.trim().split("\n");
  expect(runs.map((line) => JSON.parse(line))).toMatchObject([
    { session_id: "demo", run: 2, status: "error", error: "ZeroDivisionError", code: "1/0" },
    { session_id: "demo", run: 3, status: "ok", code: "'third'" },
  ]);
  expect((await call("logs", "demo", "--since", "2999-01-01")).stdout).toBe("no runs\n");
});

test("codecell logs of a session that nobody knows is an error, and so is a bad --tail", async () => {
  expect(await call("logs", "nobody")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no session "nobody"'),
  });
  expect(await call("logs", "--tail", "many")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("use a number, or all"),
  });
  expect(await call("logs")).toMatchObject({ code: 0, stdout: "no runs\n" });
});

test("what users of other tools type is answered with the command to type", async () => {
  for (const [line, hint] of [
    ["sessions delete demo", "did you mean codecell sessions rm?"],
    ["session ls", "did you mean codecell sessions ls?"],
    ["images", "codecell image ls"],
    ["run --sesion demo", "did you mean --session?"],
    ["run -v a:/b x.py", "did you mean --mount?"],
  ] as const) {
    const { code, stderr } = await call(...line.split(" "));
    expect({ line, code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(hint) });
  }
});
