import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { availableRunners, CodecellProcess, launcher, living, stateHome } from "./codecell-process.ts";

const runners = await availableRunners();
const endless = "print('going', flush=True)\nwhile True: pass";
/** cleans up for a moment after the interrupt */
const tidy = `
import time
try:
    print('going', flush=True)
    while True: time.sleep(0.01)
except KeyboardInterrupt:
    time.sleep(0.2)
    print('tidied up')
    raise`;
/** ignores interrupts */
const stubborn = `
import time
text = 'going\\n'
while True:
    try:
        print(text, end='', flush=True)
        text = ''
        while True: time.sleep(0.05)
    except BaseException: pass`;

async function start(runner: string, code: string): Promise<CodecellProcess> {
  const one = new CodecellProcess(launcher, ["run", "--runner", runner, "-c", code]);
  await one.printed("going");
  return one;
}

for (const runner of runners) {
  test(`Ctrl-C interrupts a program in the ${runner} runner, and lets it clean up`, async () => {
    const one = await start(runner, tidy);
    const cell = one.descendants();
    expect(cell.length).toBeGreaterThan(0);
    process.kill(-one.pid, "SIGINT"); // the whole process group, as a terminal does; it must not reach the cell
    const { code, stdout, stderr } = await one.finished;
    expect({ code, stdout }).toEqual({ code: 130, stdout: "going\ntidied up\n" });
    expect(stderr).toContain("the run was interrupted");
    await gone(cell);
  });

  test(`Ctrl-C while the ${runner} runner starts exits at once`, async () => {
    const one = new CodecellProcess(launcher, ["run", "--runner", runner, "-c", endless]);
    const cell = await someDescendants(one);
    process.kill(-one.pid, "SIGINT");
    expect((await one.finished).code).toBe(130);
    await gone(cell);
  });

  test(`a second Ctrl-C kills a program in the ${runner} runner that ignores the first`, async () => {
    const one = await start(runner, stubborn);
    const cell = one.descendants();
    process.kill(-one.pid, "SIGINT");
    await one.printed("interrupting"); // two signals at once would arrive as one
    process.kill(-one.pid, "SIGINT");
    expect((await one.finished).code).toBe(130);
    await gone(cell);
  });

  test(`SIGTERM leaves nothing behind in the ${runner} runner`, async () => {
    const one = await start(runner, stubborn);
    const cell = one.descendants();
    process.kill(one.pid, "SIGTERM");
    expect((await one.finished).code).toBe(143);
    await gone(cell);
  });

  test(`a closed output pipe ends a program in the ${runner} runner`, async () => {
    const flood =
      "import time\nprint('going', flush=True)\nwhile True:\n  print('more', flush=True)\n  time.sleep(0.01)";
    const one = await start(runner, flood);
    const cell = one.descendants();
    one.child.stdout?.destroy();
    expect((await one.finished).code).toBe(141);
    await gone(cell);
  });
}

async function someDescendants(one: CodecellProcess): Promise<string[]> {
  for (let cell = one.descendants(); ; cell = one.descendants()) {
    if (cell.length > 0) return cell;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The janitor of a cell may outlive it by a moment. */
async function gone(processes: readonly string[]): Promise<void> {
  await expect.poll(() => living(processes), { timeout: 30_000 }).toEqual([]);
}

test.each([
  ["help"],
  ["doctor"],
  ["policy", "schema"],
  ["run", "-c", "1"],
  ["run", "-c", "1", "--json"],
  ["run", "-c", "print('x' * 100_000)"],
])("a full disk behind the output is reported without a stack trace: %s", async (...argv) => {
  const { code, stderr } = await withStdout("/dev/full", argv);
  expect({ code, stderr }).toEqual({
    code: 74,
    stderr: "codecell: the output is incomplete: there is no space left on the disk\n",
  });
});

test("a closed pipe during a long output causes no stack trace", async () => {
  const shell = `'${process.execPath}' '${launcher}' serve --print-openapi | head -c 1 >&2; echo "\${PIPESTATUS[0]}"`;
  const { stdout, stderr } = await promisify(execFile)("bash", ["-c", shell]);
  expect({ stdout, stderr }).toEqual({ stdout: "141\n", stderr: "{" });
});

describe("when the output of a command is lost", () => {
  let home = "";
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "cc-lost-"));
    await chmod(home, 0o711); // as root, cells run as other users
    const session = new CodecellProcess(launcher, ["run", "--session", "piped", "-c", "x = 1"], {
      env: { XDG_STATE_HOME: home },
    });
    expect(await session.finished).toMatchObject({ code: 0, stderr: "" });
  });
  afterAll(() => rm(home, { recursive: true, force: true }));

  test.each([
    "sessions ls",
    "sessions show piped",
    "sessions export piped",
    "ps --all --runtime-dir .", // not the processes of other tests
    "logs",
    "audit tail",
    "audit show piped",
    "audit verify",
    "audit export",
    "run -c 1 --json",
  ])("a closed pipe ends `codecell %s` with 141 and no message", async (line) => {
    expect(await withClosedPipe(line.split(" "), home)).toEqual({ code: 141, stderr: "" });
  });

  test("a command that fails keeps its exit code when its pipe is closed", async () => {
    expect(await withClosedPipe(["sessions", "show", "nobody", "--json"], home)).toEqual({ code: 1, stderr: "" });
  });

  test("an export to a full disk is reported once, without a stack trace", async () => {
    expect(await withStdout("/dev/full", ["sessions", "export", "piped"], { home })).toEqual({
      code: 74,
      stderr: "codecell: the output is incomplete: there is no space left on the disk\n",
    });
  });
});

/** The reader of the pipe is gone before codecell starts, so every write fails. */
function withClosedPipe(argv: readonly string[], home: string): Promise<{ code: number | null; stderr: string }> {
  return withStdout(">(exec true)", argv, { home, before: "wait $!;" });
}

async function withStdout(
  target: string,
  argv: readonly string[],
  { home = stateHome, before = "" } = {},
): Promise<{ code: number | null; stderr: string }> {
  const shell = `exec > ${target}; ${before} exec '${process.execPath}' '${launcher}' "$@"`;
  const env = { ...process.env, XDG_STATE_HOME: home };
  const child = spawn("bash", ["-c", shell, "codecell", ...argv], { env, stdio: ["ignore", "ignore", "pipe"] });
  let stderr = "";
  child.stderr.on("data", (bytes) => {
    stderr += bytes;
  });
  const [code] = await once(child, "close");
  return { code, stderr };
}
