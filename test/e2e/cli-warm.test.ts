import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { compiledCodeDirectory } from "../../src/lib/files/compiled-code.ts";
import { codecellHere } from "./codecell-here.ts";
import { CodecellProcess, codecell, launcher, root, type StartOptions, stateHome } from "./codecell-process.ts";

interface HolderFacts {
  readonly pid: number;
  readonly ready: number;
  readonly running: number;
  readonly runs: number;
}

let runtime: string;
let cwd: string;
let env: Record<string, string>;
const holders = new Set<number>();

function makeDirectories(): void {
  runtime = mkdtempSync(join(tmpdir(), "cc-warm-"));
  cwd = mkdtempSync(join(tmpdir(), "cc-warm-cwd-"));
  chmodSync(runtime, 0o711); // cells of root have another user, who must be able to enter
  env = { XDG_RUNTIME_DIR: runtime, CODECELL_WARM_IDLE: "2m", ANTHROPIC_API_KEY: "sk-of-the-caller" };
  // What V8 compiled for other tests. Each process would compile it again, which is not the question here.
  const [compiled, here] = [compiledCodeDirectory(), compiledCodeDirectory(process.getuid?.(), runtime)];
  if (compiled === undefined || here === undefined || !existsSync(compiled)) return;
  mkdirSync(join(here, ".."), { mode: 0o711 });
  cpSync(compiled, here, { recursive: true, preserveTimestamps: true });
  chmodSync(here, statSync(compiled).mode);
}

async function removeDirectories(): Promise<void> {
  await callHere(["warm", "stop"]);
  for (const pid of holders) if (isAlive(pid)) process.kill(pid, "SIGKILL");
  holders.clear();
  for (const path of [runtime, cwd]) rmSync(path, { recursive: true, force: true });
}

function call(argv: readonly string[], options: StartOptions = {}) {
  return codecell(argv, { cwd, ...options, env: { ...env, ...options.env } });
}

/** A command that asks the process that holds the cells, or runs a program the ordinary way. */
function callHere(argv: readonly string[], options: StartOptions = {}) {
  return codecellHere(argv, { cwd, ...options, env: { ...env, ...options.env } });
}

function start(argv: readonly string[]): CodecellProcess {
  return new CodecellProcess(launcher, ["run", "--warm", ...argv], { cwd, env });
}

async function status(): Promise<HolderFacts[]> {
  const { processes } = JSON.parse((await callHere(["warm", "status", "--json"])).stdout) as {
    processes: HolderFacts[];
  };
  for (const { pid } of processes) holders.add(pid);
  return processes;
}

/** Makes a first call, and waits for the process that it starts. */
async function holderOf(...flags: string[]): Promise<HolderFacts> {
  const before = warmFiles().length === 0 ? [] : (await status()).map(({ pid }) => pid);
  const sockets = socketNames();
  const first = await callHere(["run", "--warm", "-c", "1", ...flags]);
  expect(first).toMatchObject({ code: 0, stdout: "1\n", stderr: "" });
  let found: HolderFacts | undefined;
  const limit = { timeout: 30_000 };
  await vi.waitFor(() => expect(socketNames()).not.toEqual(sockets), limit); // costs less than asking a command
  await vi.waitFor(async () => {
    found = (await status()).find(({ pid }) => !before.includes(pid));
    expect(found).toBeDefined();
  }, limit);
  return found as HolderFacts;
}

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

const runsOf = async () => (await status()).map(({ runs }) => runs);
const warmFiles = () =>
  existsSync(join(runtime, "codecell", "warm")) ? readdirSync(join(runtime, "codecell", "warm")) : [];
const socketPath = () =>
  join(runtime, "codecell", "warm", warmFiles().find((one) => one.endsWith(".sock")) ?? "missing");
/** with their times: a socket may take the place of one that was left */
const socketNames = () =>
  warmFiles()
    .filter((one) => one.endsWith(".sock"))
    .map((one) => [one, statSync(join(runtime, "codecell", "warm", one), { throwIfNoEntry: false })?.ctimeMs]);

describe.skipIf(process.platform !== "linux")("codecell run --warm", { timeout: 120_000 }, () => {
  /** of the process that all these tests use, and how many programs it had run before the test */
  let pid: number;
  let before: number;
  const policyFile = () => join(cwd, "sandbox.policy.yaml");
  const policyOf = (who: string) => `version: 1\nenv: { WHO: ${who} }\n`;
  beforeAll(async () => {
    makeDirectories();
    writeFileSync(policyFile(), policyOf("first"));
    ({ pid } = await holderOf());
  });
  beforeEach(async () => {
    before = (await runsOf())[0] ?? Number.NaN;
  });
  afterAll(removeDirectories);

  test("prints what the ordinary call prints, with the same exit code", async () => {
    writeFileSync(join(cwd, "job.py"), "import sys\nprint(__file__, sys.argv[1:])\n42\n");
    const all = "import sys; print(sys.argv, sys.stdin.read()); print('err', file=sys.stderr); display('shown'); 6 * 7";
    const calls: [string[], string?][] = [
      [["-c", all, "--", "a", "--b"], "from stdin"],
      [["-c", "1/0"]],
      [["-c", "import sys; sys.exit(3)"]],
      [["-"], "print('code from stdin'); 'value'"],
      [["job.py", "x"]],
      [["--language", "bash", "-c", "echo $0 $#; exit 4", "--", "y"]],
    ];
    for (const [argv, stdin] of calls) {
      const options = stdin === undefined ? {} : { stdin };
      const ordinary = await callHere(["run", ...argv], options);
      expect(await call(["run", "--warm", ...argv], options), argv.join(" ")).toEqual(ordinary);
    }
    expect(await status()).toMatchObject([{ pid, runs: before + calls.length }]);
  });

  test("prints the same JSON, and one more line after a receipt", async () => {
    const shape = (text: string) => {
      const { usage, receipt, duration_ms, policy_hash, ...rest } = JSON.parse(text);
      const rules = (receipt.rules as { rule: string; value: string; by: string }[]).map(({ rule, value, by }) =>
        rule === "session.pool" ? rule : [rule, value, by],
      );
      return { ...rest, usage: Object.keys(usage), receipt: Object.keys(receipt), rules };
    };
    const argv = ["-c", "print('x'); {'a': 1}", "--json"];
    const ordinary = await callHere(["run", ...argv]);
    const warm = await call(["run", "--warm", ...argv]);
    expect(shape(warm.stdout)).toEqual(shape(ordinary.stdout));
    const { stderr } = await call(["run", "--warm", "--receipt", "-c", "1"]);
    expect(stderr).toMatch(/^net\.enabled +false +os/m);
    expect(stderr.trimEnd().split("\n").at(-1)).toContain(`The cell was warm: codecell process ${pid} started it`);
  });

  test("saves displays in the caller's directory, and hints at the files beside the caller's script", async () => {
    const code = "display({'text/html': '<b>', 'image/svg+xml': '<svg/>'}, raw=True)";
    const { stderr } = await call(["run", "--warm", "-c", code, "--plots", "out"]);
    expect(stderr).toMatch(/^codecell: saved out\/plot-1\.html .*\ncodecell: saved out\/plot-1\.svg .*\n$/);
    expect(readdirSync(join(cwd, "out")).sort()).toEqual(["plot-1.html", "plot-1.svg"]);
    const wrong = await call(["run", "--warm", "-c", code, "--plots", "out/plot-1.svg"]);
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("it is not a directory") });
    writeFileSync(join(cwd, "beside.py"), "");
    writeFileSync(join(cwd, "imports.py"), "import beside\n");
    const missing = await call(["run", "--warm", "imports.py"]);
    expect(missing.stderr).toContain(
      "beside.py is beside imports.py on the host, but not in the cell; add --project . ",
    );
    expect(await status()).toMatchObject([{ pid, runs: before + 3 }]);
  });

  test("gives every program a cell of its own", async () => {
    await call(["run", "--warm", "-c", "x = 1; open('left', 'w').write('x')"]);
    const next = await call(["run", "--warm", "-c", "import os; ('x' in globals(), os.listdir())"]);
    expect(next.stdout).toBe("(False, [])\n");
    expect(await status()).toMatchObject([{ pid, runs: before + 2 }]);
  });

  test("cancels the program of a caller that disappears", async () => {
    const running = start(["-c", "print('begun', flush=True); import time; time.sleep(60)"]);
    await running.printed("begun");
    expect(await status()).toMatchObject([{ running: 1 }]);
    running.child.kill("SIGKILL");
    await running.finished;
    await expect.poll(async () => (await status())[0]?.running, { timeout: 20_000 }).toBe(0);
  });

  test("interrupts the program on Ctrl-C, and kills it on the second one", async () => {
    const polite = start(["-c", "print('begun', flush=True); import time; time.sleep(60)"]);
    await polite.printed("begun");
    polite.child.kill("SIGINT");
    const { code, stderr } = await polite.finished;
    expect(code).toBe(130);
    expect(stderr).toContain("interrupting; press Ctrl-C again to kill it");
    expect(stderr).toContain("the run was interrupted");
    const deaf =
      "import time\ntext = 'begun'\nwhile True:\n  try:\n    print(text, flush=True)\n    time.sleep(60)\n  except BaseException: text = 'no'";
    const stubborn = start(["-c", deaf]);
    await stubborn.printed("begun");
    stubborn.child.kill("SIGINT");
    await stubborn.printed("no");
    stubborn.child.kill("SIGINT");
    expect((await stubborn.finished).code).toBe(130);
    await expect.poll(async () => (await status())[0]?.running, { timeout: 20_000 }).toBe(0);
  });

  test("streams a stdin that is larger than any buffer, and Ctrl-C works while nobody reads it", async () => {
    const mebibyte = 1024 * 1024;
    const stdin = "x".repeat(36 * mebibyte); // a frame has at most 32 MiB
    const counted = await call(["run", "--warm", "-c", "import sys; len(sys.stdin.buffer.read())"], { stdin });
    expect(counted).toMatchObject({ code: 0, stdout: `${36 * mebibyte}\n` });
    const unread = new CodecellProcess(
      launcher,
      ["run", "--warm", "-c", "print('begun', flush=True); import time; time.sleep(60)"],
      { cwd, env, stdin },
    );
    await unread.printed("begun");
    unread.child.kill("SIGINT");
    expect((await unread.finished).code).toBe(130);
  });

  test("loses nothing of a large output into a pipe that nobody reads yet, and keeps it out of memory", async () => {
    const program =
      "import sys\nfor n in range(5_000): print('x' * 9_999)\nsys.stdout.flush()\nprint('all', file=sys.stderr)";
    const child = spawn(process.execPath, [launcher, "run", "--warm", "-c", program], {
      cwd,
      env: { ...process.env, XDG_STATE_HOME: stateHome, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    await once(child.stderr, "data");
    const peak = (id: number | undefined) =>
      Number(/VmHWM:\s*(\d+) kB/.exec(readFileSync(`/proc/${id}/status`, "utf8"))?.[1]);
    const peaks = [peak(child.pid), peak(pid)];
    let read = 0;
    child.stdout.on("data", (piece: Buffer) => (read += piece.length));
    const [code] = await once(child, "close");
    expect({ code, read }).toEqual({ code: 0, read: 50_000_000 });
    for (const kilobytes of peaks) expect(kilobytes).toBeLessThan(200_000);
  });

  test("drops a caller that sends garbage, and serves the others", async () => {
    const messages = [
      Buffer.from("GET / HTTP/1.1\r\n\r\n"),
      Buffer.from([1, 0xff, 0xff, 0xff, 0xff]),
      Buffer.concat([Buffer.from([1, 0, 0, 0, 2]), Buffer.from("{}")]),
      Buffer.concat([Buffer.from([2, 0, 0, 0, 1]), Buffer.from("x")]),
      Buffer.concat([Buffer.from([1, 0, 0, 0, 3]), Buffer.from("nul")]),
    ];
    for (const message of messages) {
      const socket = connect(socketPath(), () => socket.write(message));
      socket.on("error", () => {});
      socket.resume();
      await once(socket, "close");
    }
    expect((await call(["run", "--warm", "-c", "3"])).stdout).toBe("3\n");
    // the process counts a run as ended after the caller has exited
    await expect.poll(status).toMatchObject([{ pid, runs: before + 1, running: 0 }]);
  });

  test("does not use a socket in a directory that other users may enter", async () => {
    chmodSync(join(runtime, "codecell", "warm"), 0o755);
    expect((await call(["run", "--warm", "-c", "4"])).stdout).toBe("4\n");
    chmodSync(join(runtime, "codecell", "warm"), 0o700);
    expect(await runsOf()).toEqual([before]);
  });

  test("is on for every call with CODECELL_WARM=1", async () => {
    expect((await callHere(["run", "-c", "7"])).stdout).toBe("7\n");
    expect(await runsOf()).toEqual([before]);
    expect((await call(["run", "-c", "8"], { env: { CODECELL_WARM: "1" } })).stdout).toBe("8\n");
    expect(await runsOf()).toEqual([before + 1]);
  });

  test("keeps the environment of the caller from the process and from the program", async () => {
    expect(env.ANTHROPIC_API_KEY).toBe("sk-of-the-caller");
    expect(readFileSync(`/proc/${pid}/environ`, "utf8")).not.toContain("sk-of-the-caller");
    expect(readFileSync(`/proc/${pid}/cmdline`, "utf8")).not.toContain("sk-of-the-caller");
    const { stdout } = await call(["run", "--warm", "-c", "import os; sorted(os.environ)"]);
    expect(stdout).not.toContain("ANTHROPIC");
    expect(await runsOf()).toEqual([before + 1]);
  });

  test("is not used after an edit of the policy file", async () => {
    const code = ["run", "--warm", "-c", "import os; os.environ['WHO']"];
    expect((await call(code)).stdout).toBe("'first'\n");
    writeFileSync(policyFile(), policyOf("second"));
    try {
      expect((await call(code)).stdout).toBe("'second'\n");
      await expect.poll(async () => (await status()).length, { timeout: 30_000 }).toBe(2);
      expect((await call(code)).stdout).toBe("'second'\n");
      expect((await status()).find((one) => one.pid === pid)).toMatchObject({ runs: before + 1 });
    } finally {
      writeFileSync(policyFile(), policyOf("first"));
      const others = holderPids(runtime).filter((one) => one !== pid);
      for (const other of others) process.kill(other, "SIGTERM");
      await expect.poll(() => others.filter(isAlive)).toEqual([]);
    }
  });

  test("cancels the running program when `codecell warm stop` stops the process", async () => {
    const running = start(["-c", "print('begun', flush=True); import time; time.sleep(60)"]);
    await running.printed("begun");
    expect((await call(["warm", "stop"])).stdout).toBe("Stopped 1 background process.\n");
    expect((await running.finished).code).toBe(143);
    await expect.poll(() => isAlive(pid)).toBe(false);
    expect((await call(["warm", "status"])).stdout).toBe("No background process keeps warm cells.\n");
  });
});

describe.skipIf(process.platform !== "linux")(
  "codecell run --warm in a fresh runtime directory",
  { timeout: 120_000 },
  () => {
    beforeEach(makeDirectories);
    afterEach(removeDirectories);

    test("starts one process if two first calls race", async () => {
      const calls = [1, 2].map(() => call(["run", "--warm", "-c", "1"]));
      for (const { code, stdout } of await Promise.all(calls))
        expect({ code, stdout }).toEqual({ code: 0, stdout: "1\n" });
      await expect.poll(async () => (await status()).length, { timeout: 30_000 }).toBe(1);
      const [holder] = await status();
      // The others exit when they find the lock taken. Then nothing but the files of this one is left.
      await expect.poll(() => holderPids(runtime), { timeout: 30_000 }).toEqual([holder?.pid]);
      expect(warmFiles().sort()).toEqual([expect.stringMatching(/\.lock$/), expect.stringMatching(/\.sock$/)]);
    });

    test("fails as for a lost cell if the process is killed during the run, and replaces that process", async () => {
      const { pid } = await holderOf();
      const running = start(["-c", "print('begun', flush=True); import time; time.sleep(60)"]);
      await running.printed("begun");
      process.kill(pid, "SIGKILL");
      const { code, stdout, stderr } = await running.finished;
      expect({ code, stdout }).toEqual({ code: 70, stdout: "begun\n" });
      expect(stderr).toContain("the background process that held the cell exited during the run");

      await expect.poll(() => isAlive(pid)).toBe(false);
      expect(existsSync(socketPath())).toBe(true);
      expect(await status()).toEqual([]);
      const { pid: next } = await holderOf();
      expect(next).not.toBe(pid);
      expect((await call(["run", "--warm", "-c", "2"])).stdout).toBe("2\n");
      expect(await runsOf()).toEqual([1]);
    });

    test("runs the ordinary way with host directories, a log or a session, and starts nothing", async () => {
      const data = join(cwd, "data");
      for (const flags of [
        ["--mount", `${root}docs:/data`],
        ["--verbose"],
        ["--session", "work", "--state-dir", join(runtime, "state")],
        ["--log-file", data],
      ]) {
        const { code, stdout, stderr } = await callHere(["run", "--warm", "-c", "5", ...flags]);
        expect({ code, stdout }, `${flags[0]}: ${stderr}`).toEqual({ code: 0, stdout: "5\n" });
      }
      writeFileSync(
        join(cwd, "sandbox.policy.yaml"),
        `version: 1\nfs: { mounts: [{ source: ${root}docs, target: /data }] }\n`,
      );
      expect((await call(["run", "--warm", "-c", "6"])).stdout).toBe("6\n");
      expect(existsSync(join(runtime, "codecell", "warm"))).toBe(false);
      expect(holderPids(runtime)).toEqual([]);
    });

    test("leaves nothing behind when the process exits idle", async () => {
      env = { ...env, CODECELL_WARM_IDLE: "5s" };
      const { pid } = await holderOf();
      await expect.poll(() => isAlive(pid), { timeout: 30_000 }).toBe(false);
      expect(existsSync(join(runtime, "codecell", "warm"))).toBe(false);
    });
  },
);

/** The holders that were started with this runtime directory. */
function holderPids(directory: string): number[] {
  return readdirSync("/proc").flatMap((name) => {
    try {
      const isHolder = readFileSync(`/proc/${name}/cmdline`, "utf8").endsWith("\0warm\0hold\0");
      const isOurs = readFileSync(`/proc/${name}/environ`, "utf8").includes(`XDG_RUNTIME_DIR=${directory}\0`);
      return isHolder && isOurs && isAlive(Number(name)) ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}
