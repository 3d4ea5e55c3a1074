import { expect, test } from "vitest";
import { type FakeOptions, FakeRunner } from "../../../../test/fakes/fake-runner.ts";
import { FakeTerminal, type FakeTerminalOptions } from "../../../../test/fakes/fake-terminal.ts";
import { main } from "../main.ts";

const cwd = import.meta.dirname;

function start(argv: string[], fake: FakeOptions = {}, options: FakeTerminalOptions = {}) {
  const terminal = new FakeTerminal({ cwd, ...options });
  const runner = new FakeRunner(fake);
  return { terminal, runner, exit: main(["run", ...argv], { terminal, runners: () => [runner] }) };
}

async function run(...args: Parameters<typeof start>) {
  const { terminal, runner, exit } = start(...args);
  const code = await exit;
  return { code, stdout: terminal.stdout.text, stderr: terminal.stderr.text, terminal, runner };
}

const returnsValue: FakeOptions = { program: () => ({ result: "42" }) };

test("streams both outputs to where they belong and exits with 0", async () => {
  const program: FakeOptions["program"] = (cell) => {
    cell.print("stdout", "out\n");
    cell.print("stderr", "err\n");
    return {};
  };
  expect(await run(["-c", "x"], { program })).toMatchObject({ code: 0, stdout: "out\n", stderr: "err\n" });
});

test("shows output before the run has ended", async () => {
  let finish = () => {};
  const { terminal, exit } = start(["-c", "x"], {
    program: async (cell) => {
      cell.print("stdout", "first\n");
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return {};
    },
  });
  await terminal.sees("first");
  finish();
  expect(await exit).toBe(0);
});

test("prints the last value for -c and for stdin, and not for a file", async () => {
  expect((await run(["-c", "6*7"], returnsValue)).stdout).toBe("42\n");
  expect((await run(["-"], returnsValue, { stdin: "6*7" })).stdout).toBe("42\n");
  expect((await run([], returnsValue, { stdin: "6*7" })).stdout).toBe("42\n");
  expect((await run(["main.ts", "-l", "python"], returnsValue)).stdout).toBe("");
});

test("prints a value that is also a display only once, and mentions images on stderr", async () => {
  const program: FakeOptions["program"] = (cell) => {
    cell.display("text/plain", Buffer.from("<Table>"));
    cell.display("image/png", Buffer.alloc(2048));
    return { result: "<Table>" };
  };
  expect(await run(["-c", "t"], { program })).toMatchObject({ stdout: "<Table>\n", stderr: "[image/png, 2 KiB]\n" });
  expect((await run(["main.ts", "-l", "python"], { program })).stdout).toBe("");
});

test("prints the traceback and the notes of a failed run on stderr", async () => {
  const error = { name: "ValueError", message: "no", traceback: "Traceback\nValueError: no\n" };
  const program = () => ({ status: "error" as const, exitCode: 1, error, notes: ["1 process ended with it"] });
  const { code, stderr } = await run(["-c", "x"], { program });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: "Traceback\nValueError: no\ncodecell: 1 process ended with it\n",
  });
});

test("exits silently with the code that the program chose", async () => {
  const error = { name: "SystemExit", message: "7", traceback: "SystemExit: 7" };
  const program = () => ({ status: "error" as const, exitCode: 7, error });
  expect(await run(["-c", "x"], { program })).toMatchObject({ code: 7, stderr: "" });
});

test("makes escape sequences visible on a terminal, and passes them on to a pipe", async () => {
  const attack = "\u001b]52;c;cm0=\u0007";
  const program: FakeOptions["program"] = (cell) => {
    cell.print("stdout", attack);
    return { notes: [attack] };
  };
  const onTerminal = await run(["-c", "x"], { program }, { isTTY: true, env: { NO_COLOR: "1" } });
  expect(onTerminal).toMatchObject({ stdout: "^[]52;c;cm0=^G\n", stderr: "codecell: ^[]52;c;cm0=^G\n" });
  expect((await run(["-c", "x"], { program })).stdout).toBe(attack);
});

test("prints the highlights of the receipt on stderr with --receipt, and nothing of it otherwise", async () => {
  const { stdout, stderr } = await run(["-c", "6*7", "--receipt"], returnsValue);
  expect(stdout).toBe("42\n");
  expect(stderr).toMatch(/^\nwasm \(fake 1\), policy sha256 \w{12}…\n\nRULE +VALUE +BY +HOW\n/);
  expect(stderr).toMatch(/^net\.enabled +false +runtime +nothing real$/m);
  expect(stderr).toMatch(/\nand \d+ more rows: `codecell run --json` prints the whole receipt\n$/);
  expect((await run(["-c", "6*7"], returnsValue)).stderr).toBe("");
});

test("prints exactly one object with --json", async () => {
  const program: FakeOptions["program"] = (cell) => {
    cell.print("stdout", "out\u009b");
    return { status: "timeout", state: "recovered", notes: ["cut short"] };
  };
  const { code, stdout, stderr } = await run(["-c", "x", "--json"], { program });
  expect({ code, stderr }).toEqual({ code: 124, stderr: "" });
  expect(stdout).not.toContain("\u009b");
  expect(stdout.trimEnd().split("\n")).toHaveLength(1);
  const object = JSON.parse(stdout);
  expect(object).toMatchObject({ status: "timeout", exit_code: null, stdout: "out\u009b", value: null, error: null });
  expect(object).toMatchObject({ truncated: false, state: "recovered", notes: ["cut short"], runner: "wasm" });
  expect(object.receipt.rules).toContainEqual({
    rule: "proc.timeout",
    value: "30s",
    by: "runtime",
    how: "nothing real",
  });
});

test("reports its own failures as JSON when asked to", async () => {
  const { code, stdout } = await run(["missing.py", "--json"]);
  expect(code).toBe(2);
  expect(JSON.parse(stdout)).toEqual({ error: { code: "usage", message: "missing.py does not exist", hint: null } });
});

test.each([
  ["missing", "codecell: missing does not exist\n"],
  [".", "codecell: . is a directory\n"],
  ["a\ufffdb.py", "codecell: a\ufffdb.py does not exist\nhint: the file name is not UTF-8: rename the file"],
])("says what is wrong with the file before what is wrong with its name: %s", async (file, text) => {
  const { code, stderr } = await run([file]);
  expect(code).toBe(2);
  expect(stderr).toContain(text);
});

test("exits with 3 for a policy that no runner can hold, and with 4 when none is there", async () => {
  const refused = [{ rule: "proc.memory", value: "512MiB", reason: "no limit here", hint: "another runner" }];
  expect(await run(["-c", "x"], { refused })).toMatchObject({
    code: 3,
    stderr: expect.stringContaining("proc.memory"),
  });
  const probe = { available: false, reason: "it is not installed", hint: "install it" } as const;
  expect(await run(["-c", "x"], { probe })).toMatchObject({
    code: 4,
    stderr: expect.stringContaining("hint: install it"),
  });
});

test("passes flags on as policy, and says so with --verbose", async () => {
  const { runner, stderr } = await run(["-c", "x", "--timeout", "2s", "--verbose"]);
  expect(runner.started[0]?.policy.proc.timeoutMs).toBe(2000);
  expect(stderr).toContain("codecell: proc.timeout: 30s → 2s (narrower, by a flag)\n");
  expect(stderr).toContain("codecell: runner: wasm (fake 1)\n");
});

test.each([
  [["-c", "x", "main.ts"], "cannot be combined"],
  [["run.test.ts"], "cannot tell the language of"],
  [["-c", "x", "--language", "ruby"], "unknown language"],
  [["-c", "x", "--nope"], "unknown option"],
])("refuses %j as a usage error", async (argv, message) => {
  expect(await run(argv)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
});

test("run without code on a terminal is a usage error", async () => {
  const terminal = new FakeTerminal({ cwd });
  terminal.stdin.isTTY = true;
  expect(await main(["run"], { terminal, runners: () => [] })).toBe(2);
  expect(terminal.stderr.text).toContain("codecell repl");
});

test("refuses code that is not text, or too long", async () => {
  const tooLong = "#".repeat(2 * 1024 * 1024 + 1);
  expect(await run(["-"], {}, { stdin: tooLong })).toMatchObject({ code: 2 });
});

test("interrupts the run on the first Ctrl-C and keeps what it says", async () => {
  const { terminal, runner, exit } = start(["-c", "x"], {
    program: async (cell) => {
      cell.print("stdout", "going\n");
      await cell.interrupted;
      cell.print("stdout", "stopped\n");
      return { status: "interrupted" };
    },
  });
  await terminal.sees("going");
  terminal.send("SIGINT");
  expect(await exit).toBe(130);
  expect(terminal.stdout.text).toBe("going\nstopped\n");
  expect(terminal.stderr.text).toContain("Ctrl-C again to kill it");
  expect(runner).toMatchObject({ openCells: 0, isDisposed: true });
});

test.each([
  [["SIGINT", "SIGINT"], 130],
  [["SIGTERM"], 143],
  [["SIGHUP"], 129],
  [["SIGPIPE"], 141],
] as const)("ends the cell of a program that does not stop on %j", async (signals, code) => {
  const { terminal, runner, exit } = start(["-c", "x"], {
    program: (cell) => {
      cell.print("stdout", "going\n");
      return new Promise(() => {});
    },
  });
  await terminal.sees("going");
  for (const signal of signals) terminal.send(signal);
  expect(await exit).toBe(code);
  expect(runner).toMatchObject({ openCells: 0, isDisposed: true });
  expect(terminal.exitedWith).toBeUndefined();
});

test.each([
  ["SIGPIPE", 141],
  ["EIO", 74],
] as const)("a run that is cancelled because its output is lost (%s) prints no remarks", async (signal, code) => {
  const { terminal, exit } = start(["-c", "x"], {
    program: (cell) => {
      cell.print("stdout", "going\n");
      return new Promise(() => {});
    },
  });
  await terminal.sees("going");
  terminal.send(signal);
  expect(await exit).toBe(code);
  expect(terminal.stderr.text).toBe("");
});
