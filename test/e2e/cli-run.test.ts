import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { codecellHere } from "./codecell-here.ts";
import { availableRunners, CodecellProcess, codecell, launcher, stateHome } from "./codecell-process.ts";

const runners = await availableRunners();
/** Runs a shell script with these words as its arguments, in a process group of its own. */
async function inShell(script: string, words: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  const env = { ...process.env, XDG_STATE_HOME: stateHome };
  const shell = spawn("bash", ["-c", script, "bash", ...words], { cwd, env, detached: true });
  shell.stdin.end();
  const [stdout, stderr] = await Promise.all([text(shell.stdout), text(shell.stderr)]);
  return { stdout, stderr };
}
let cwd: string;
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), "codecell-e2e-"));
});
afterAll(() => rm(cwd, { recursive: true }));

describe.each(runners)("codecell run in the %s runner", (runner) => {
  const run = (...argv: string[]) => codecellHere(["run", "--runner", runner, ...argv], { cwd });

  test("prints the output and the value of the last expression, and does not wait for a stdin that stays open", async () => {
    const env = { ...process.env, XDG_STATE_HOME: stateHome };
    const code = "import sys; print('out'); print('err', file=sys.stderr); 6*7";
    const waiting = spawn(process.execPath, [launcher, "run", "--runner", runner, "-c", code], { cwd, env });
    waiting.stdin.on("error", () => {});
    expect(await Promise.all([text(waiting.stdout), text(waiting.stderr)])).toEqual(["out\n42\n", "err\n"]);
    if (waiting.exitCode === null) await once(waiting, "exit");
    expect(waiting.exitCode).toBe(0);
  });

  test("passes its arguments, its stdin and the name of the file to the program", async () => {
    await writeFile(join(cwd, "tool.py"), "import sys\nprint(sys.argv, __file__)\nprint(sys.stdin.read().upper())\n");
    const finished = await codecell(["run", "tool.py", "a", "--runner", runner, "--", "--b", "c d"], {
      cwd,
      stdin: "data",
    });
    expect(finished).toMatchObject({ code: 0, stdout: "['tool.py', 'a', '--b', 'c d'] tool.py\nDATA\n", stderr: "" });
  });

  test("prints one JSON object with the whole result", async () => {
    const { code, stdout, stderr } = await run("-c", "print('é'); [1, 2]", "--json");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const object = JSON.parse(stdout);
    expect(object).toMatchObject({
      status: "ok",
      exit_code: 0,
      stdout: "é\n",
      stderr: "",
      value: "[1, 2]",
      error: null,
    });
    expect(object).toMatchObject({ truncated: false, state: "kept", runner, receipt: { runner } });
    expect(object.duration_ms).toBeGreaterThanOrEqual(0);
    const rules = object.receipt.rules.map(({ rule }: { rule: string }) => rule);
    expect(rules).toEqual(expect.arrayContaining(["net.enabled", "proc.timeout", "proc.memory", "fs.workspace"]));
  });

  test("exits with 3 and names the rule that the runner cannot enforce", async () => {
    await writeFile(join(cwd, "image.yaml"), "kernel: { image: 'no-such-image:none' }\n");
    const { code, stderr } = await run("-c", "1", "--policy", "image.yaml");
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining("kernel.image") });
  });
});

/** The behaviour of the command itself, with any runner. The runners' part is in their contract. */
describe("codecell run", () => {
  const run = (...argv: string[]) => codecellHere(["run", ...argv], { cwd });

  test("exits with 124 after a timeout", async () => {
    const { code, stderr } = await run("-c", "while True: pass", "--timeout", "500ms");
    expect({ code, stderr }).toEqual({
      code: 124,
      stderr: expect.stringContaining("codecell: the run timed out after "),
    });
  });

  test("exits with 137 when memory runs out, or raises MemoryError in the program", async () => {
    const code = "block = []\nwhile True: block.append(bytearray(8 << 20))";
    const finished = await run("-c", code, "--memory", "128MiB");
    // an interpreter with its own memory limit raises MemoryError, which is an error of the program
    if (finished.code === 1) expect(finished.stderr).toContain("MemoryError");
    else expect(finished.code).toBe(137);
  });

  test("says on stderr how much output is held back while the program is still printing", async () => {
    const code = "import time\nwhile True:\n    print('x' * 100_000)\n    time.sleep(0.05)";
    const argv = ["run", "-c", code, "--output-limit", "64KiB", "--timeout", "1m"];
    const started = new CodecellProcess(launcher, argv, { cwd });
    await started.printed("are held back so far");
    started.child.kill("SIGINT");
    const { code: exitCode, stderr } = await started.finished;
    expect(exitCode).toBe(130);
    expect(stderr).toMatch(
      /^codecell: the program printed more than the output limit; [\d.]+ [KM]iB are held back so far, /m,
    );
  });

  test("runs a file in the language of its extension, without printing its last value", async () => {
    await writeFile(join(cwd, "program.py"), "print('from a file')\n'unseen'\n");
    expect(await run("program.py")).toMatchObject({ code: 0, stdout: "from a file\n" });
  });

  test("gives a program a pipe, a file and a here-document as stdin, and nothing from /dev/null or a closed stdin", async () => {
    const read = "import sys; print(repr(sys.stdin.readline()))";
    await writeFile(join(cwd, "data.txt"), "in a file\n");
    const script = `yes | "$@"; "$@" < data.txt; "$@" <<X
here
X
"$@" < /dev/null; "$@" <&-`;
    const { stdout, stderr } = await inShell(script, [process.execPath, launcher, "run", "-c", read]);
    expect({ stdout, stderr }).toEqual({ stdout: "'y\\n'\n'in a file\\n'\n'here\\n'\n''\n''\n", stderr: "" });
    const asks = await inShell('"$@" < /dev/null', [process.execPath, launcher, "run", "-c", "input()"]);
    expect(asks.stderr).toContain("input() has no terminal here: pipe the input,");
  });

  test("runs code from stdin", async () => {
    const finished = await codecell(["run", "-"], { cwd, stdin: "x = 20\nx + 1\n" });
    expect(finished).toMatchObject({ code: 0, stdout: "21\n" });
  });

  test("prints the traceback of a failing program with only its own lines", async () => {
    const { code, stderr } = await run("-c", "def f():\n  return 1/0\nf()");
    expect(code).toBe(1);
    expect(stderr).toMatch(/^Traceback[\s\S]*return 1\/0[\s\S]*ZeroDivisionError: division by zero\n$/);
    expect(stderr).not.toContain("codecell");
  });

  test("exits with the program's exit code", async () => {
    expect(await run("-c", "import sys; sys.exit(7)")).toMatchObject({ code: 7, stdout: "", stderr: "" });
  });

  test("writes all of a long output into a pipe", async () => {
    const code = "for n in range(30_000): print('line', n, 'x' * 100)";
    const { code: exitCode, stdout, stderr } = await codecell(["run", "-c", code, "--receipt"], { cwd });
    expect({ exitCode, length: stdout.length }).toEqual({ exitCode: 0, length: 3_348_890 });
    expect(stdout.endsWith(`\nline 29999 ${"x".repeat(100)}\n`)).toBe(true);
    expect(stderr).toMatch(/^proc\.output +64MiB .* for this run; /m);
    expect(stderr).not.toContain("truncated");
  });

  test("truncates output at the limit, says so and fails", async () => {
    const code = "print('first' + 'x' * (3 << 20) + 'last')";
    const finished = await run("-c", code, "--output-limit", "1MiB");
    expect(finished.code).toBe(1);
    expect(finished.stdout.length).toBeLessThanOrEqual(1 << 20);
    expect(finished.stdout).toMatch(/^firstx+\n\[\.\.\. [\d,]+ bytes left out \.\.\.\]\nx+last\n$/);
    expect(finished.stderr).toContain("codecell: output was truncated: the program printed 3 MiB");
    expect(finished.stderr).toContain("and 2 MiB in the middle were left out; raise the limit with --output-limit");
  });

  test("fails if a pipe gets only a part of the value", async () => {
    const { code, stderr } = await run("-c", "'x' * 30_000");
    expect(code).toBe(1);
    expect(stderr).toContain("codecell: the value or a display was truncated; print it to get all of it");
  });
});

test.skipIf(!runners.includes("process"))("codecell run runs bash by option and by extension", async () => {
  await writeFile(join(cwd, "job.sh"), "echo $((6 * 7)); exit 5\n");
  expect(await codecellHere(["run", "job.sh", "--runner", "process"], { cwd })).toMatchObject({
    code: 5,
    stdout: "42\n",
  });
});

test.skipIf(!runners.includes("process"))("codecell run mounts a directory read-only", async () => {
  await mkdir(join(cwd, "data"));
  await writeFile(join(cwd, "data", "notes.txt"), "hello\n");
  // under root, the cell runs as another user
  await chmod(cwd, 0o755);
  const code = "print(open('/data/notes.txt').read(), end='')\nopen('/data/new', 'w')";
  const finished = await codecellHere(["run", "-c", code, "--mount", "data:/data", "--runner", "process"], { cwd });
  expect(finished).toMatchObject({ code: 1, stdout: "hello\n", stderr: expect.stringContaining("Read-only") });
});

test("codecell run exits with 4 if the runner is not available", async () => {
  const { code, stdout } = await codecellHere(["run", "-c", "1", "--runner", "gvisor", "--json"], { cwd });
  expect(code).toBe(4);
  expect(JSON.parse(stdout)).toMatchObject({ error: { code: "runner_unavailable" } });
});

test("codecell doctor lists every runner and exits with 0", async () => {
  const { code, stdout } = await codecell(["doctor"], { cwd });
  expect(code).toBe(0);
  for (const name of ["gvisor", "kata", "container", "kubernetes", "process", "srt", "wasm"])
    expect(stdout).toContain(name);
  expect(stdout).not.toContain("microvm"); // a level that a policy may name, but no runner of this version
  expect(stdout).toMatch(/^codecell works on this machine: \d of 7 runners are available\nauto chooses /);
  expect(stdout).toMatch(/^auto chooses \w+$/m);
});
