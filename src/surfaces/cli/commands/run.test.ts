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

test("run streams stdout and stderr separately and exits with 0", async () => {
  const program: FakeOptions["program"] = (cell) => {
    cell.print("stdout", "out\n");
    cell.print("stderr", "err\n");
    return {};
  };
  expect(await run(["-c", "x"], { program })).toMatchObject({ code: 0, stdout: "out\n", stderr: "err\n" });
});

test("run prints output while the program is running", async () => {
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

test("run prints the last value for -c and for stdin, but not for a file", async () => {
  expect((await run(["-c", "6*7"], returnsValue)).stdout).toBe("42\n");
  expect((await run(["-"], returnsValue, { stdin: "6*7" })).stdout).toBe("42\n");
  expect((await run([], returnsValue, { stdin: "6*7" })).stdout).toBe("42\n");
  expect((await run(["main.ts", "-l", "python"], returnsValue)).stdout).toBe("");
});

test("run prints a value that is also a display only once, and does not save what only claims to be a PNG", async () => {
  const program: FakeOptions["program"] = (cell) => {
    cell.display("text/plain", Buffer.from("<Table>"));
    cell.display("image/png", Buffer.alloc(2048));
    return { result: "<Table>" };
  };
  const stderr = "codecell: not saved: image/png, 2 KiB: the content is of another type\n";
  expect(await run(["-c", "t"], { program })).toMatchObject({ stdout: "<Table>\n", stderr });
  expect((await run(["main.ts", "-l", "python"], { program })).stdout).toBe("");
});

test("run prints the traceback and the notes of a failed run on stderr", async () => {
  const error = { name: "ValueError", message: "no", traceback: "Traceback\nValueError: no\n" };
  const program = () => ({ status: "error" as const, exitCode: 1, error, notes: ["1 process ended with it"] });
  const { code, stderr } = await run(["-c", "x"], { program });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: "Traceback\nValueError: no\ncodecell: 1 process ended with it\n",
  });
});

test("run exits with the program's exit code and prints nothing", async () => {
  const error = { name: "SystemExit", message: "7", traceback: "SystemExit: 7" };
  const program = () => ({ status: "error" as const, exitCode: 7, error });
  expect(await run(["-c", "x"], { program })).toMatchObject({ code: 7, stderr: "" });
});

test("run makes escape sequences visible on a terminal, and writes them unchanged to a pipe", async () => {
  const attack = "\u001b]52;c;cm0=\u0007";
  const program: FakeOptions["program"] = (cell) => {
    cell.print("stdout", attack);
    return { notes: [attack] };
  };
  const onTerminal = await run(["-c", "x"], { program }, { isTTY: true, env: { NO_COLOR: "1" } });
  expect(onTerminal).toMatchObject({ stdout: "^[]52;c;cm0=^G\n", stderr: "codecell: ^[]52;c;cm0=^G\n" });
  expect((await run(["-c", "x"], { program })).stdout).toBe(attack);
});

test("run prints the highlights of the receipt on stderr only with --receipt", async () => {
  const { stdout, stderr } = await run(["-c", "6*7", "--receipt"], returnsValue);
  expect(stdout).toBe("42\n");
  expect(stderr).toMatch(/^\nwasm \(fake 1\), policy sha256 \w{12}…\n\nRULE +VALUE +BY +HOW\n/);
  expect(stderr).toMatch(/^net\.enabled +false +runtime +nothing real$/m);
  expect(stderr).toMatch(/\nand \d+ more rows: `codecell run --json` prints the whole receipt\n$/);
  expect((await run(["-c", "6*7"], returnsValue)).stderr).toBe("");
});

test("run --json prints exactly one object", async () => {
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

test("run --json prints errors of codecell as JSON", async () => {
  const { code, stdout } = await run(["missing.py", "--json"]);
  expect(code).toBe(2);
  expect(JSON.parse(stdout)).toEqual({ error: { code: "usage", message: "missing.py does not exist", hint: null } });
});

test.each([
  ["missing", "codecell: missing does not exist\n"],
  [".", "codecell: . is a directory\n"],
  ["a\ufffdb.py", "codecell: a\ufffdb.py does not exist\nhint: the file name is not UTF-8: rename the file"],
])("run reports a file that cannot be read before an unknown extension: %s", async (file, text) => {
  const { code, stderr } = await run([file]);
  expect(code).toBe(2);
  expect(stderr).toContain(text);
});

test("run exits with 3 if no runner can enforce the policy, and with 4 if no runner is available", async () => {
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

test("run applies policy flags, and --verbose prints them", async () => {
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
])("run with the arguments %j is a usage error", async (argv, message) => {
  expect(await run(argv)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
});

test("run says how an unknown option reaches the program, and guesses nothing from a single letter", async () => {
  const { code, stderr } = await run(["run.test.ts", "-v"]);
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr:
      'codecell: unknown option "-v"\n' +
      "hint: to pass it to the program, put `--` before it: `-- -v`; `codecell help run` shows the options\n",
  });
  expect((await run(["run.test.ts", "--tiemout"])).stderr).toContain(
    "did you mean --timeout?\nhint: to pass it to the",
  );
});

test.each([
  ["print(1)", "to run code, use -c CODE"],
  ["1+1", "to run code, use -c CODE"],
  ["x = 1\nx", "to run code, use -c CODE"],
  [`print('${"x".repeat(300)}')`, "to run code, use -c CODE"],
  ["https://x.y/z.py", "download it first, then run the file"],
  ["rnu.test.ts", "did you mean run.test.ts?"],
  ["../commands/rnu.test.ts", "did you mean ../commands/run.test.ts?"],
])("run %j, which is no file, says what to do instead", async (file, hint) => {
  const { code, stderr } = await run([file]);
  expect(code).toBe(2);
  expect(stderr.endsWith(`\nhint: ${hint}\n`)).toBe(true);
});

const tellsProgram: FakeOptions = { program: (cell) => ({ result: JSON.stringify(cell.program ?? null) }) };

test.each([
  [["-c", "x"], undefined, null],
  [["-c", "x", "--", "a", "--b"], undefined, { args: ["a", "--b"] }],
  [["-c", "x"], "data", { stdin: true }],
  [["-", "a", "--", "-x"], "the code", { args: ["a", "-x"] }],
  [["-", "--timeout", "2s", "a"], "the code", { args: ["a"] }],
] as const)("run %j with %j on stdin gives the program %j", async (argv, stdin, program) => {
  const { stdout } = await run([...argv], tellsProgram, stdin === undefined ? {} : { stdin });
  expect(JSON.parse(stdout)).toEqual(program);
});

test("run gives a file its own name and arguments, and never its path", async () => {
  const seen: unknown[] = [];
  const program: FakeOptions["program"] = (cell) => {
    seen.push(cell.program);
    return {};
  };
  const file = `${cwd}/run.test.ts`;
  await run([file, "-l", "python", "a", "--", "--help"], { program });
  await run([file, "-l", "python"], { program }, { stdin: "data" });
  expect(seen).toEqual([
    { file: "run.test.ts", args: ["a", "--help"] },
    { file: "run.test.ts", stdin: true },
  ]);
});

test("run without code on a terminal is a usage error", async () => {
  const terminal = new FakeTerminal({ cwd });
  terminal.stdin.isTTY = true;
  expect(await main(["run"], { terminal, runners: () => [] })).toBe(2);
  expect(terminal.stderr.text).toContain("codecell repl");
});

test("run refuses code that is not UTF-8 text or is too long", async () => {
  const tooLong = "#".repeat(2 * 1024 * 1024 + 1);
  expect(await run(["-"], {}, { stdin: tooLong })).toMatchObject({ code: 2 });
});

test("run is interrupted by the first Ctrl-C and keeps its output", async () => {
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
] as const)("run kills the cell of a program that does not stop on %j", async (signals, code) => {
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

test("run --warm says on a terminal why it does not use a warm cell, and runs the program", async () => {
  const flags = ["-c", "x", "--warm", "--mount", `${cwd}:/data`];
  const onTerminal = await run(flags, returnsValue, { isTTY: true });
  expect(onTerminal).toMatchObject({ code: 0, stdout: "42\n" });
  expect(onTerminal.stderr).toBe("codecell: no warm cell: a cell sees host directories as they were when it started\n");
  expect(await run(flags, returnsValue)).toMatchObject({ code: 0, stdout: "42\n", stderr: "" });
});
