import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { CodecellError } from "../../src/lib/errors.ts";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import { mayHaveProcesses } from "../../src/policy/isolation.ts";
import type { PolicyInput } from "../../src/policy/schema.ts";
import type { Guarantee, Probe, SandboxRunner } from "../../src/runners/runner.ts";
import { outputText } from "../../src/service/output/output-text.ts";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import { LiveSessions } from "../../src/sessions/live-sessions.ts";
import type { LiveRunOptions } from "../../src/sessions/runs/live-run-options.ts";
import type { Run, RunResult } from "../../src/sessions/runs/run.ts";
import { isThorough } from "../support/thorough.ts";
import { cellFilesContract } from "./cell-files.ts";
import { hostCallContract } from "./host-calls.ts";
import { promptContract } from "./prompt.ts";
import { skippedWithout } from "./required.ts";

const policy: PolicyInput = {
  proc: { timeout: "20s", memory: "256MiB", disk: "64MiB", output: "256KiB" },
  env: { GREETING: "hello" },
};

/** Rounds of a test in which chance decides. Eight runners ask the same of the same host code. */
const rounds = (thorough: number) => (isThorough ? thorough : Math.ceil(thorough / 4));

/** Allowed differences between runners. Each runner must state them in its receipt. */
export interface ContractDifferences {
  /** its name in REQUIRE_RUNNERS and reports; default: the runner's own */
  readonly name?: string;
  /** default: the runner's own probe, without a time limit */
  readonly probe?: (runner: SandboxRunner) => Promise<Probe>;
  /** a runner that maps no paths has no /workspace: the working directory and HOME are the host's path */
  readonly workspaceAt?: "/workspace" | "its own path";
}

/** The same expectations for every runner, except for the differences named above. */
export async function runnerContract(
  title: string,
  make: () => SandboxRunner,
  { workspaceAt = "/workspace", ...differences }: ContractDifferences = {},
): Promise<void> {
  const sample = make();
  const probe = await (differences.probe?.(sample) ?? sample.probe({ isPatient: true }));
  await sample[Symbol.asyncDispose]();
  const recoveries: readonly Guarantee[] = ["crash-recovery", "snapshot-recovery"];
  const recovers = probe.available && probe.guarantees.some((one) => recoveries.includes(one));
  const hasOwnKernel = probe.available && probe.guarantees.includes("own-kernel");

  describe(title, skippedWithout(differences.name ?? sample.name, probe), () => {
    let codecell: LiveSessions;
    let session: LiveSession;

    beforeAll(async () => {
      codecell = await LiveSessions.open({ policy: parsePolicy(policy), runners: [make()] });
      session = await codecell.openSession();
    });
    afterAll(() => codecell?.close());

    let second: LiveSession | undefined;
    /** A second session for tests that only need another one, because some runners take seconds to open it. They may end it. */
    const otherSession = async () => {
      if (!second?.isAlive) second = await codecell.openSession();
      return second;
    };

    /** Without an older copy, the next run waits for a copy of this state. So a crash always restores this state. */
    const freshWith = async (code: string) => {
      await session.reset();
      await run(code);
    };
    const run = (code: string, options?: LiveRunOptions): Promise<RunResult> => session.run(code, options);

    hostCallContract(() => session);
    promptContract(() => session);
    cellFilesContract(() => session, { limitsDisk: workspaceAt === "/workspace" });

    test("bash and checkpoints are missing from a cell only if its runner is known to have no processes", () => {
      if (mayHaveProcesses(sample.name)) expect(session.features).toContain("checkpoints");
      else {
        expect(session.features).not.toContain("checkpoints");
        expect(session.languages).toEqual(["python"]);
      }
    });

    describe("a run", () => {
      test("returns its output and the value of its last expression", async () => {
        const result = await run("import sys\nprint('out')\nprint('err', file=sys.stderr)\n6 * 7");
        expect(result).toMatchObject({ status: "ok", state: "kept", exitCode: 0, value: "42" });
        expect(result).toMatchObject({ stdout: "out\n", stderr: "err\n", truncated: false });
      });

      test("reports its CPU time, memory, wall time and network use", async () => {
        const idle = await run("1");
        const busy = await run(
          "import time\nblob = b'x' * 50_000_000\nend = time.process_time() + 0.05\nwhile time.process_time() < end: pass\ndel blob",
        );
        expect(busy.usage.cpuMs).toBeGreaterThan(30);
        expect(busy.usage.cpuMs).toBeGreaterThan(idle.usage.cpuMs ?? Number.NaN);
        expect(busy.usage.peakMemoryBytes).toBeGreaterThan(50 * 2 ** 20);
        expect(busy.usage).toMatchObject({ wallMs: busy.durationMs, sentBytes: 0, receivedBytes: 0 });
        const { cpuMs, memoryBytes, peakMemoryBytes } = await session.usage();
        expect(cpuMs).toBeGreaterThan(30);
        expect(memoryBytes).toBeGreaterThan(2 ** 20);
        expect(peakMemoryBytes).toBeGreaterThanOrEqual(memoryBytes ?? Number.NaN);
      });

      test("sees the variables of earlier runs", async () => {
        await run("counter = 1\ndef step(n):\n    return counter + n");
        expect(await run("counter += 1\nstep(40)")).toMatchObject({ value: "42" });
      });

      test("that fails returns a traceback with only the user's frames and source lines", async () => {
        const result = await run("def ratio(a, b):\n    return a / b\nratio(1, 0)");
        expect(result).toMatchObject({ status: "error", state: "kept", exitCode: 1 });
        expect(result.error).toMatchObject({ name: "ZeroDivisionError", message: "division by zero" });
        expect(result.error?.traceback).toContain("return a / b");
        expect(result.error?.traceback).toContain("ratio(1, 0)");
        expect(result.error?.traceback).not.toContain("codecell_kernel");
      });

      test("with a syntax error reports the line", async () => {
        const result = await run("x = (1,\ny = 2");
        expect(result).toMatchObject({ status: "error", error: { name: "SyntaxError" } });
      });

      test("that exits with a code reports it and keeps the session", async () => {
        await run("kept = 'yes'");
        expect(await run("import sys\nsys.exit(3)")).toMatchObject({ status: "error", exitCode: 3 });
        expect(await run("sys.exit()")).toMatchObject({ status: "ok", exitCode: 0 });
        expect(await run("kept")).toMatchObject({ value: "'yes'" });
      });

      test("may await at the top level", async () => {
        const code =
          "import asyncio\nasync def work():\n    await asyncio.sleep(0.01)\n    return 'done'\nawait work()";
        expect(await run(code)).toMatchObject({ status: "ok", value: "'done'" });
      });

      test("that asks for input fails at once with a clear message", async () => {
        const result = await run("input('name? ')");
        expect(result).toMatchObject({ status: "error", error: { name: "EOFError" } });
        expect(result.error?.message).toContain("input() has no terminal here: pipe the input,");
      });

      test("streams its output while it is running", async () => {
        const going = session.run("import time\nprint('first', flush=True)\ntime.sleep(30)");
        for await (const event of going) {
          expect(event).toEqual({ type: "stdout", text: "first\n" });
          break;
        }
        going.interrupt();
        expect(await going).toMatchObject({ status: "interrupted", state: "kept" });
      });

      test("displays values in every MIME type that they offer", async () => {
        const result = await run(
          "class Card:\n    def _repr_html_(self): return '<b>card</b>'\n    def _repr_png_(self): return b'\\x89PNG' + bytes(300000)\ndisplay(Card())\ndisplay({'a': 1})",
        );
        const forms = result.displays.map(({ display, mime, data }) => [display, mime, data.byteLength]);
        expect(forms).toContainEqual([1, "text/html", 11]);
        expect(forms).toContainEqual([1, "image/png", 300_004]);
        expect(forms).toContainEqual([2, "text/plain", 8]);
      });

      test("displays values in order with what it prints", async () => {
        const turns = 20;
        const code = `for n in range(${turns}):\n    print("before", n, end=" ")\n    display(n)\n    print("after", n)`;
        const result = await run(code);
        const expected = Array.from({ length: turns }, (_, n) => `before ${n} \n${n}\nafter ${n}\n`).join("");
        expect(outputText(result)).toBe(expected);
      });

      test("prints bytes that are not UTF-8 as replacement characters", async () => {
        const result = await run("import sys\nsys.stdout.buffer.write(b'a\\xffb\\n')\nsys.stdout.flush()");
        expect(result).toMatchObject({ status: "ok", stdout: "a\ufffdb\n", stdoutBytes: 4 });
      });

      test("sees the policy's environment and nothing else of the host's", async () => {
        process.env.CODECELL_CANARY = "planted";
        onTestFinished(() => void delete process.env.CODECELL_CANARY);
        const result = await run("import os\nprint(os.environ['GREETING'], 'CODECELL_CANARY' in os.environ)");
        expect(result.stdout).toBe("hello False\n");
      });

      test("writes and reads files in its workspace", async () => {
        await run("open('table.csv', 'w').write('a,b\\n1,2\\n')");
        const maps = workspaceAt === "/workspace";
        const place = maps ? "'/workspace'" : "os.environ['HOME']";
        const code = `import os\nos.getcwd() == ${place}, open(${place} + '/table.csv').read()`;
        expect(await run(code)).toMatchObject({ value: "(True, 'a,b\\n1,2\\n')" });
        if (!maps) expect(session.receipt.notes.join()).toContain("/workspace does not exist");
      });

      test("may give its files any time", async () => {
        const result = await session.run(`import os
for name, seconds in ("past", -1000), ("long-ago", -(2**40)), ("future", 2**40), ("end", 2**62):
    open(name, "w").write(name)
    try: os.utime(name, (seconds, seconds))
    except (OSError, OverflowError): pass`);
        expect(result).toMatchObject({ status: "ok", state: "kept" });
        expect(result.artifacts.map(({ name }) => name)).toEqual(["end", "future", "long-ago", "past"]);
      });

      test("that is cancelled before it starts keeps the state, and does not interrupt a later run", async () => {
        await run("kept = 1");
        for (let round = 0; round < rounds(20); round++) {
          const given = session.run("import time\ntime.sleep(30)", { signal: AbortSignal.abort() });
          expect(await given).toMatchObject({ status: "cancelled", state: "kept" });
          expect(await run("kept")).toMatchObject({ status: "ok", value: "1" });
        }
      });

      test("whose interrupt arrives at its end or later does not interrupt the next run", async () => {
        for (let round = 0; round < rounds(30); round++) {
          const quick = session.run("1");
          setTimeout(() => quick.interrupt(), round % 3);
          expect(await quick).toMatchObject({ state: "kept" });
          expect(await run("1 + 1")).toMatchObject({ status: "ok", value: "2" });
        }
      });

      test("in bash can be interrupted at any moment of its start, and the state is kept", async (context) => {
        context.skip(!session.languages.includes("bash"), "no bash here");
        context.skip(hasOwnKernel, "there the start of bash may take longer than an interrupt waits");
        for (let round = 0; round < rounds(40); round++) {
          const going = session.run("sleep 30", { language: "bash" });
          setTimeout(() => going.interrupt(), round % 5);
          const status = expect.stringMatching(/^(interrupted|cancelled)$/); // cancelled while it waited for a copy
          expect(await going).toMatchObject({ status, state: "kept" });
        }
      });

      test("is refused while another one is running", async () => {
        const going = session.run("import time\ntime.sleep(30)");
        expect(() => session.run("1")).toThrowError(expect.objectContaining({ code: "session_busy" }));
        going.interrupt();
        await going;
      });

      test("over the code limit is refused, and the state is kept", async () => {
        expect(() => session.run(`'${"x".repeat(3_000_000)}'`)).toThrowError(
          expect.objectContaining({ code: "too_large" }),
        );
        expect(await run("1")).toMatchObject({ status: "ok" });
      });
    });

    describe("a program", () => {
      const letters = (count: number, size: number) => {
        const source = {
          sent: 0,
          isReleased: false,
          async *[Symbol.asyncIterator]() {
            try {
              for (; source.sent < count * size; source.sent += size) yield Buffer.alloc(size, "x");
            } finally {
              source.isReleased = true;
            }
          },
        };
        return source;
      };
      /** Sends one line and no end, like a terminal where nobody types. */
      async function* silentAfter(line: string) {
        yield line;
        await new Promise(() => {});
      }

      test("sees its name and its arguments, and only in its own run", async () => {
        const code = "import sys\nprint(sys.argv, __file__)";
        const args = ["a b", "--flag", "", 'quo"te', "ü"];
        const named = await run(code, { args, file: "tool.py" });
        expect(named).toMatchObject({
          status: "ok",
          stdout: `['tool.py', 'a b', '--flag', '', 'quo"te', 'ü'] tool.py\n`,
        });
        expect(await run("sys.argv", { args: ["1"] })).toMatchObject({ value: "['', '1']" });
        expect(await run("sys.argv, '__file__' in globals()")).toMatchObject({ value: "([''], False)" });
      });

      test("reads its standard input in every way, to its end", async () => {
        const code =
          "import os, sys\nprint(input('name? '))\nprint(next(sys.stdin))\nprint(sys.stdin.read())\n" +
          "os.read(0, 10), sys.stdin.fileno(), sys.stdin.isatty()";
        const result = await run(code, { stdin: "Ada\nzwei ü\nrest\nend" });
        expect(result).toMatchObject({
          status: "ok",
          stdout: "name? Ada\nzwei ü\n\nrest\nend\n",
          value: "(b'', 0, False)",
        });
        const none = "try:\n    input()\nexcept EOFError as error:\n    print(error)";
        expect(await run(none, { stdin: "" })).toMatchObject({ stdout: "EOF when reading a line\n" });
        expect(await run("sys.stdin.read()")).toMatchObject({ value: "''" });
        expect((await run("input()")).error?.message).toContain("input() has no terminal");
      });

      test("gets bytes as they are, and lines as soon as they are sent", async () => {
        const bytes = Buffer.from([0, 255, 10, 13, 10, 128]);
        const echo = "import sys\nsys.stdin.buffer.read()";
        expect(await run(echo, { stdin: bytes })).toMatchObject({ value: "b'\\x00\\xff\\n\\r\\n\\x80'" });
        const lines = async function* () {
          yield "one\n";
          for await (const event of going) {
            if (event.type === "stdout" && event.text === "ONE\n") break;
          }
          yield "two\n";
        };
        const going: Run = session.run("for line in sys.stdin: print(line.upper(), end='', flush=True)", {
          stdin: lines(),
        });
        expect(await going).toMatchObject({ status: "ok", stdout: "ONE\nTWO\n" });
      });

      test("gets a large standard input only as fast as it reads", async () => {
        const source = letters(16, 1 << 20);
        const slow =
          "import sys, time\nfirst = len(sys.stdin.buffer.read(10))\ntime.sleep(0.5)\nprint('slept', flush=True)\n";
        const going = session.run(`${slow}first + len(sys.stdin.buffer.read())`, { stdin: source });
        for await (const _ of going) break;
        expect(source.sent).toBeLessThan(8 << 20);
        expect(await going).toMatchObject({ status: "ok", value: String(16 << 20) });
      });

      test("that leaves input unread or closes it ends at once, and the next run does not see the rest", async () => {
        for (const code of ["1", "import os\nos.close(0)\n1", "import sys\nsys.stdin.readline(10) and 1"]) {
          const source = letters(64, 1 << 20);
          expect(await run(code, { stdin: source })).toMatchObject({ status: "ok", state: "kept", value: "1" });
          await expect.poll(() => source.isReleased || source.sent === 0).toBe(true);
          expect(source.sent).toBeLessThan(8 << 20);
          expect(await run("import sys\nsys.stdin.read()")).toMatchObject({ status: "ok", value: "''" });
          expect(await run("sys.stdin.read()", { stdin: "its own" })).toMatchObject({ value: "'its own'" });
        }
      });

      test("that waits for input can be interrupted and times out, and the next run is unaffected", async () => {
        await freshWith("kept = 'yes'");
        const wait = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)";
        const going = session.run(wait, { stdin: silentAfter("first\n") });
        for await (const _ of going) break;
        going.interrupt();
        expect(await going).toMatchObject({ status: "interrupted", state: "kept", stdout: "first\n" });
        const late = await run(wait, { stdin: silentAfter("first\n"), timeoutMs: 2_000 });
        expect(late).toMatchObject({ status: "timeout", state: "kept", stdout: "first\n" });
        expect(await run("kept, sys.stdin.read()", { stdin: "more" })).toMatchObject({ value: "('yes', 'more')" });
      });

      test("that exits its process while its input arrives keeps the state, and leaves nothing of the input to the next run", async (context) => {
        context.skip(!recovers, "no recovery here");
        await freshWith("kept = 'yes'");
        const code = "import os, sys\nsys.stdin.buffer.read(100)\nos._exit(3)";
        const result = await run(code, { stdin: letters(64, 1 << 20) });
        expect(result).toMatchObject({ status: "crashed", state: "recovered" });
        expect(result.notes.length).toBeGreaterThan(0);
        expect(await run("import sys\nkept, sys.stdin.read()")).toMatchObject({ value: "('yes', '')" });
        expect(await run("sys.stdin.read()", { stdin: "its own" })).toMatchObject({ value: "'its own'" });
      });

      test("whose input fails is interrupted instead of seeing an end", async () => {
        const broken = async function* () {
          yield "half";
          throw new Error("the disk is gone");
        };
        const result = await run("import sys\nprint(len(sys.stdin.read()))", { stdin: broken() });
        expect(result).toMatchObject({ status: "interrupted", state: "kept", stdout: "" });
        expect(result.notes.join()).toContain("the disk is gone");
      });

      test("in bash is told the lines of its own code, in errors and in LINENO", async (context) => {
        context.skip(!session.languages.includes("bash"), "no bash here");
        const { stdout, stderr } = await run("echo $LINENO\nno-such-command\necho $LINENO\n", { language: "bash" });
        expect([stdout, stderr]).toEqual(["1\n3\n", expect.stringContaining("bash: line 2: no-such-command")]);
      });

      test("in bash leaves nothing behind that only codecell has started", async (context) => {
        context.skip(!session.languages.includes("bash"), "no bash here");
        // the names of the variables are saved, but the process that lists them takes its time to exit
        const slow = 'compgen() { builtin compgen "$@"; exec >&-; sleep 0.2; }\nx=kept';
        expect(await run(slow, { language: "bash" })).toMatchObject({ status: "ok", notes: [] });
        expect(await run("unset -f compgen; echo $x", { language: "bash" })).toMatchObject({
          stdout: "kept\n",
          notes: [],
        });
      });

      test("in bash gets its name, arguments and standard input", async (context) => {
        context.skip(!session.languages.includes("bash"), "no bash here");
        const code = 'echo "$0 $# $2"\nread -r first\necho "first: $first"\ncat';
        const options: LiveRunOptions = { language: "bash", args: ["x", "y z"], file: "job.sh", stdin: "1\n2\n3\n" };
        expect(await run(code, options)).toMatchObject({ stdout: "job.sh 2 y z\nfirst: 1\n2\n3\n" });
        expect(await run('echo "$0 $#"; cat', { language: "bash" })).toMatchObject({ stdout: "bash 0\n" });
      });

      test("with a path as its name, or with bad arguments, is refused before it runs", async () => {
        const bad: LiveRunOptions[] = [{ file: "/etc/passwd" }, { file: "" }, { args: ["a\0b"] }];
        for (const options of bad) {
          await expect(run("1", options)).rejects.toMatchObject({ code: "usage" });
        }
        await expect(run("1", { args: ["x".repeat(200_000)] })).rejects.toMatchObject({ code: "too_large" });
        expect(await run("1")).toMatchObject({ status: "ok" });
      });
    });

    describe("a limit", () => {
      test("of time interrupts the run and keeps the state", async () => {
        await run("before = 'kept'");
        const result = await run("while True: pass", { timeoutMs: 300 });
        expect(result).toMatchObject({ status: "timeout", state: "kept" });
        expect(await run("before")).toMatchObject({ value: "'kept'" });
      });

      test("of time stops code that swallows the interrupt, and the result says what state is left", async () => {
        await freshWith("before = 'kept'");
        const code =
          "def spin():\n    n = 0\n    while True: n += 1\nwhile True:\n    try: spin()\n    except BaseException: pass";
        const result = await run(code, { timeoutMs: 2_000 });
        expect(result).toMatchObject({ status: "timeout", state: recovers ? "recovered" : "lost" });
        expect(await run("'before' in globals()")).toMatchObject({ value: recovers ? "True" : "False" });
      });

      test("of output keeps its beginning and its end, and counts what lies between", async () => {
        const result = await run("print('first', 'x' * 1_000_000, 'last')");
        expect(result).toMatchObject({ status: "ok", truncated: true, stdoutBytes: 1_000_012 });
        const { head, leftOut, tail } = endsOf(result.stdout);
        expect(head).toMatch(/^first x+$/);
        expect(tail).toMatch(/^x+ last\n$/);
        expect([head.length, head.length + leftOut + tail.length]).toEqual([128 * 1024, 1_000_012]);
        expect(result.leftOutBytes).toEqual({ stdout: leftOut, stderr: 0 });
        expect(result.stdout.length).toBeLessThanOrEqual(256 * 1024);
        expect(result.stdout.length).toBeGreaterThan(256 * 1024 - 64);
      });

      test("of output keeps all of an output that is not over it", async () => {
        const result = await run("print('x' * 150_000)\nimport sys\nsys.stderr.write('y' * (256 * 1024 - 150_001))");
        expect(result).toMatchObject({ truncated: false, leftOutBytes: { stdout: 0, stderr: 0 } });
        expect([result.stdout.length, result.stderr.length]).toEqual([150_001, 256 * 1024 - 150_001]);
      });

      test("of output keeps what a flood on the other stream surrounds, and splits no character", async () => {
        const code =
          "import sys\nfor n in range(20):\n    print('é' * 50_000)\n    print('warning', n, file=sys.stderr)\nprint('a' + 'é' * 300_000)";
        const result = await run(code);
        const warnings = Array.from({ length: 20 }, (_, n) => `warning ${n}\n`).join("");
        expect(result).toMatchObject({ status: "ok", stderr: warnings, truncated: true });
        expect(result.stdout).not.toContain("\ufffd");
        expect(Buffer.byteLength(endsOf(result.stdout).tail)).toBeGreaterThan(120 * 1024);
      });

      test("of output splits no character where the beginning ends exactly with a piece of the stream", async () => {
        const code =
          "import os\ndata = b'x' + 'é'.encode() * 200_000\nfor at in range(0, len(data), 4096): os.write(1, data[at : at + 4096])";
        const result = await run(code);
        expect(result.truncated).toBe(true);
        expect(result.stdout).not.toContain("\ufffd");
      });

      test("of output is exceeded also by a run that prints far too much at once and ends", async () => {
        const code = "import os\nline = b'x' * (1 << 20)\nfor _ in range(72): os.write(1, line)";
        for (let round = 0; round < rounds(3); round++)
          expect(await run(code)).toMatchObject({ status: "output_limit" });
      });

      test("of output stops a run that never stops printing", async () => {
        const result = await run("while True: print('x' * 10_000)");
        expect(result).toMatchObject({ status: "output_limit", truncated: true });
        const { head, leftOut, tail } = endsOf(result.stdout);
        expect(head.length + leftOut + tail.length).toBe(result.stdoutBytes);
        expect(result.stdout.length).toBeLessThanOrEqual(256 * 1024);
        expect(result.stdout.length).toBeGreaterThan(256 * 1024 - 64);
        expect(await run("1")).toMatchObject({ status: "ok" });
      });

      test("of memory ends the run or fails the allocation, and the session stays usable", async () => {
        await freshWith("before = 'kept'");
        const result = await run("hog = []\nwhile True: hog.append(bytearray(16 << 20))");
        expect(["out_of_memory", "error"]).toContain(result.status);
        if (result.status === "error") expect(result.error?.name).toBe("MemoryError");
        await run("hog = None");
        expect(await run("40 + 2")).toMatchObject({ status: "ok", value: "42" });
      });

      test("of disk fails the write, or ends the cell where a watchdog measures the full directory first", async () => {
        const own = await otherSession();
        // The same run removes the file, but not before a watchdog may have seen it.
        const write = "with open('big', 'wb') as f:\n        for _ in range(200): f.write(bytes(1 << 20))";
        const result = await own.run(`import os\ntry:\n    ${write}\nfinally: os.remove('big')`);
        const row = own.receipt.rules.find(({ rule }) => rule === "proc.disk");
        if (row?.by === "host watchdog" && result.status !== "error") {
          expect(result).toMatchObject({
            status: "crashed",
            notes: expect.arrayContaining([expect.stringContaining("proc.disk")]),
          });
          return;
        }
        expect(result).toMatchObject({ status: "error", error: { name: "OSError" } });
        expect(await own.run("os.path.exists('big')")).toMatchObject({ status: "ok", value: "False" });
      });
    });

    describe("hostile code", () => {
      const cases: [string, string][] = [
        ["closes sys.stdout", "import sys\nsys.stdout.close()"],
        ["replaces sys.stdout and sys.stderr", "import sys\nsys.stdout = sys.stderr = None"],
        ["replaces builtins", "import builtins\nbuiltins.len = builtins.isinstance = builtins.print = None"],
        ["recurses without end", "def f(): f()\nf()"],
        [
          "raises an exception that cannot be printed",
          "class E(Exception):\n    def __str__(self): raise self\nraise E",
        ],
        ["returns a value whose repr fails", "class R:\n    def __repr__(self): raise RuntimeError\nR()"],
        [
          "clears the module table",
          "import sys\nfor name in list(sys.modules):\n    if name.startswith('codecell'): del sys.modules[name]",
        ],
      ];
      test.each(cases)("that %s still ends in a result, and the next run works", async (_, code) => {
        expect(["ok", "error"]).toContain((await run(code)).status);
        await run("import builtins\nprint = __import__('sys').stdout.write");
        expect(await run("__import__('sys').stdout.write('fine\\n')\n41 + 1")).toMatchObject({
          status: "ok",
          value: "42",
          stdout: "fine\n",
        });
        await session.reset();
      });

      const deadly: [string, string][] = [
        // where the state comes back, "a program that exits its process" asks
        ...(recovers ? [] : [["exits the process", "import os\nos._exit(7)"] as [string, string]]),
        ["reads a wild pointer", "import ctypes\nctypes.string_at(0xFFFF_FFF0, 64)"],
      ];
      test.each(deadly)("that %s ends the run, and the result says what state is left", async (_, code) => {
        await freshWith("before = 'kept'");
        const result = await run(code);
        expect(result).toMatchObject({ status: "crashed", state: recovers ? "recovered" : "lost" });
        expect(result.notes.length).toBeGreaterThan(0);
        expect(await run("'before' in globals()")).toMatchObject({ value: recovers ? "True" : "False" });
      });
    });

    describe("variables", () => {
      test("are listed with types, sizes and summaries", async () => {
        await session.reset();
        await run("numbers = list(range(1000))\nname = 'ada'\nimport os");
        const variables = await session.variables();
        expect(variables.map(({ name, type }) => [name, type])).toEqual([
          ["numbers", "list"],
          ["name", "str"],
        ]);
        expect(variables[0]?.summary).toContain("1000 items");
      });

      test("go in and out as JSON", async () => {
        await session.set("config", { rows: [1, 2.5, null], label: "ü" });
        expect(await session.get("config['rows'] + [config['label']]")).toEqual([1, 2.5, null, "ü"]);
      });

      test("go in and out as raw bytes", async () => {
        const bytes = Buffer.alloc(5_000_000, "0123456789");
        await session.set("blob", bytes);
        expect(await run("type(blob).__name__, len(blob), blob[:10]")).toMatchObject({
          value: "('bytes', 5000000, b'0123456789')",
        });
        expect((await session.getBytes("blob")).equals(bytes)).toBe(true);
      });

      test("that do not exist or cannot be JSON cause an error with a code", async () => {
        await expect(session.get("nowhere")).rejects.toMatchObject({ code: "variable_missing" });
        await expect(session.get("object()")).rejects.toMatchObject({ code: "variable_unserializable" });
        const rounded = { code: "variable_unserializable", message: expect.stringContaining("9007199254740993") };
        await expect(session.get("[2**53 + 1]")).rejects.toMatchObject(rounded);
        expect(await session.get("[2**53 - 1, str(2**53 + 1), 2.0**60]")).toEqual([
          2 ** 53 - 1,
          "9007199254740993",
          2 ** 60,
        ]);
        await expect(session.get("1 / 0")).rejects.toMatchObject({ code: "expression_failed" });
        await expect(session.set("not a name", 1)).rejects.toBeInstanceOf(CodecellError);
      });

      test("over the caller's limit are not returned, and the error has their size", async () => {
        await run("large = 'x' * 1_000_000");
        const refusal = { code: "too_large", message: expect.stringContaining("1000002 bytes") };
        await expect(session.get("large", { maxBytes: 100_000 })).rejects.toMatchObject(refusal);
        await expect(session.getBytes("large", { maxBytes: 999_999 })).rejects.toMatchObject({ code: "too_large" });
        expect(await session.get("large[:10]", { maxBytes: 100_000 })).toBe("xxxxxxxxxx");
      });

      test("of any size have a preview with their beginning and their length", async () => {
        await run("large = ['ä' * 100] * 100_000\nclass Thing: pass");
        const { text, ...facts } = await session.preview("large", { maxBytes: 1_000 });
        expect(facts).toEqual({ form: "json", characters: 10_300_001, isCut: true });
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1_000);
        expect(text).toMatch(/^\["ä{100}","ä+/);
        expect(text).not.toContain("\ufffd");
        expect(await session.preview("[1, 'ü']")).toEqual({
          ...{ form: "json", text: '[1,"ü"]', characters: 7, isCut: false },
        });
        expect(await session.preview("Thing")).toMatchObject({ form: "repr", isCut: false });
      });

      test("are gone after a reset", async () => {
        await run("temporary = 1");
        await session.reset();
        expect(await run("temporary")).toMatchObject({ status: "error", error: { name: "NameError" } });
      });
    });

    describe("a session", () => {
      test("sees neither the variables nor the files of another session", async () => {
        await run("secret = 'mine'\nopen('secret.txt', 'w').write('mine')");
        const other = await otherSession();
        const result = await other.run("import os\n'secret' in globals(), os.path.exists('/workspace/secret.txt')");
        expect(result.value).toBe("(False, False)");
      });

      test("has its own random numbers", async () => {
        const other = await otherSession();
        const draw = "import random\nrandom.random()";
        expect((await run(draw)).value).not.toBe((await other.run(draw)).value);
      });

      test("has a receipt with exactly one row for every rule", async () => {
        const rules = session.receipt.rules.map(({ rule }) => rule);
        expect(new Set(rules).size).toBe(rules.length);
        expect(rules).toEqual(expect.arrayContaining(["net.enabled", "proc.memory", "proc.timeout", "fs.deny"]));
        expect(session.receipt).toMatchObject({
          runner: sample.name,
          policyHash: expect.stringMatching(/^[0-9a-f]{64}$/),
        });
      });

      test("that is closed refuses runs, and closing twice is safe", async () => {
        const other = await otherSession();
        await other.close();
        await other.close();
        expect(() => other.run("1")).toThrowError(expect.objectContaining({ code: "session_closed" }));
      });

      test("is not opened after a cancellation, at whatever moment that comes", async () => {
        for (const delayMs of isThorough ? [0, 1, 5, 20, 60] : [0, 5, 60]) {
          const signal = delayMs === 0 ? AbortSignal.abort(new Error("changed my mind")) : AbortSignal.timeout(delayMs);
          const opening = codecell.openSession({ signal }).then(
            (opened) => opened.close(), // it opened before the abort
            (error: unknown) =>
              expect(error).toMatchObject({
                code: "aborted",
                message: expect.stringMatching(/^the start was aborted: /),
              }),
          );
          await opening;
        }
        await using other = await codecell.openSession();
        expect(await other.run("40 + 2")).toMatchObject({ value: "42" });
      });

      test("cancels a run whose signal is aborted", async () => {
        const controller = new AbortController();
        const going = session.run("import time\nprint('on', flush=True)\ntime.sleep(30)", {
          signal: controller.signal,
        });
        for await (const _ of going) controller.abort();
        expect(await going).toMatchObject({ status: "cancelled", state: "kept" });
      });

      test("has no network", async () => {
        const code = "import socket\ns = socket.socket()\ns.settimeout(2)\ns.connect(('127.0.0.9', 9))";
        const result = await run(code);
        expect(result).toMatchObject({ status: "error" });
      });
    });

    test("a policy that the runner cannot enforce is refused with the rule's name", async () => {
      const unheld = parsePolicy({ kernel: { image: "no-such-image:none" } });
      const opening = LiveSessions.open({ policy: unheld, runners: [make()] });
      await expect(opening).rejects.toMatchObject({
        code: "policy_refused",
        message: expect.stringContaining("kernel.image"),
      });
    });
  });
}

/** What a result keeps of a long output, and how much the line between says is missing. */
function endsOf(text: string): { head: string; leftOut: number; tail: string } {
  const [, head = "", leftOut = "", tail = ""] =
    /^(.*?)\n\[\.\.\. ([\d,]+) bytes left out \.\.\.\]\n(.*)$/s.exec(text) ?? [];
  return { head, leftOut: Number(leftOut.replaceAll(",", "")), tail };
}
