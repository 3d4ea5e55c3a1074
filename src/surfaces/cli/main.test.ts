import { expect, test } from "vitest";
import { FakeRunner } from "../../../test/fakes/fake-runner.ts";
import { FakeTerminal, type FakeTerminalOptions } from "../../../test/fakes/fake-terminal.ts";
import { commands } from "./commands.ts";
import { main } from "./main.ts";
import type { Runner } from "./sessions/session-types.ts";

async function cli(argv: string[], options: FakeTerminalOptions = {}, runners: Runner[] = [new FakeRunner()]) {
  const terminal = new FakeTerminal({ cwd: import.meta.dirname, ...options });
  const code = await main(argv, { terminal, runners: () => runners });
  return { code, stdout: terminal.stdout.text, stderr: terminal.stderr.text };
}

test("codecell without a command prints an overview and a usage error", async () => {
  expect(await cli([])).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("Commands:") });
  expect(await cli(["--help"])).toMatchObject({ code: 0, stdout: expect.stringContaining("Commands:") });
});

test("the overview names and summarizes each command as its own help does", async () => {
  for (const { name, summary, load } of commands) expect(await load()).toMatchObject({ name, summary });
});

test("codecell --version prints the version", async () => {
  expect((await cli(["--version"])).stdout).toMatch(/^codecell \d+\.\d+\.\d+\n$/);
});

test.each(commands.map(({ name }) => name))(
  "the help of %s has examples, with `help` and with --help",
  async (name) => {
    const { code, stdout } = await cli(["help", ...name.split(" ")]);
    expect(code).toBe(0);
    expect(stdout).toContain(`Usage: codecell ${name}`);
    expect(stdout).toContain("Examples:\n  ");
    expect((await cli([...name.split(" "), "--help"])).stdout).toBe(stdout);
  },
);

test("the help of a group lists its commands, with `help` and with --help", async () => {
  const { code, stdout } = await cli(["policy", "--help"]);
  expect(code).toBe(0);
  for (const word of ["init", "check", "explain"]) expect(stdout).toContain(`Usage: codecell policy ${word}`);
  expect((await cli(["help", "policy"])).stdout).toBe(stdout);
});

test("the help of repl keeps its lines unwrapped", async () => {
  const { stdout } = await cli(["repl", "--help"]);
  expect(stdout).toContain("\n  %reset        delete every variable; keep files\n  %help");
});

test("run treats --help as code when it is the value of -c", async () => {
  expect((await cli(["run", "-c", "--help"])).stdout).not.toContain("Usage");
});

test.each([
  [["rnu"], "did you mean codecell run?"],
  [["policy", "chekc"], "did you mean codecell policy check?"],
  [["policy"], "`codecell policy` needs a subcommand: init, check, explain"],
  [["--json"], "codecell help"],
  [["run", "--timeout", "-c", "1"], "--timeout needs a value"],
  [["sessions", "show", "work", "--history", "-1"], "--history=VALUE"],
  [["run", "-c"], "--code needs a value"],
  [["run", "-c", "--json"], "-c needs a value; write a value that starts with a dash as -cVALUE"],
])("codecell with the arguments %j is a usage error with a suggestion", async (argv, hint) => {
  const { code, stdout, stderr } = await cli(argv);
  expect(code).toBe(2);
  expect(stdout + stderr).toContain(hint);
});

test("a bug in codecell exits with 70 and prints no stack trace", async () => {
  const broken = new FakeRunner();
  broken.probe = () => Promise.reject(new TypeError("x is not a function"));
  const { code, stderr } = await cli(["run", "-c", "1"], {}, [broken]);
  expect(code).toBe(70);
  expect(stderr).toContain("internal error: x is not a function");
  expect(stderr).not.toContain("at ");
});

test("the repl runs lines from a pipe in one session, including its own commands", async () => {
  const program = ({ code }: { code: string }) => ({ result: `<${code}>` });
  const runner = new FakeRunner({ program });
  const stdin = "one\ndef f():\n  pass\n\n!ls\n%vars\n%reset\n%vrs\nlast(";
  const { code, stdout, stderr } = await cli(["repl"], { stdin }, [runner]);
  expect(code).toBe(0);
  const values = "<one>\n<def f():\n  pass\n>\n<ls>\n";
  expect(stdout).toBe(`${values}NAME  TYPE  SIZE  VALUE\nx     int   28 B  6\n<last(>\n`);
  expect(stderr).toContain("deleted every variable");
  expect(stderr).toContain("did you mean %vars?");
  expect(runner).toMatchObject({ openCells: 0, isDisposed: true, started: { length: 1 } });
});

test("the repl continues in a new session after its cell is gone", async () => {
  const channels: { destroy(): void }[] = [];
  const runner = new FakeRunner({
    program: ({ code }) => {
      if (code !== "die") return { result: `<${code}>` };
      channels.at(-1)?.destroy();
      return new Promise(() => {});
    },
  });
  const start = runner.start.bind(runner);
  runner.start = async (spec) => {
    const cell = await start(spec);
    channels.push(cell.channel);
    return cell;
  };
  const { code, stdout, stderr } = await cli(["repl"], { stdin: "a\ndie\nb\n" }, [runner]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "<a>\n<b>\n" });
  expect(stderr).toContain("codecell: the session was closed and its variables are lost; this is a new session");
  expect(runner).toMatchObject({ openCells: 0, started: { length: 2 } });
});
