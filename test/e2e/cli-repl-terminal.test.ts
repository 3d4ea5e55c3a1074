import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { codecellHere } from "./codecell-here.ts";
import { availableRunners, codecell } from "./codecell-process.ts";
import { hasTmux, TmuxTerminal } from "./tmux-terminal.ts";

const runners = await availableRunners();
const title = `codecell repl in a terminal${hasTmux ? "" : " (tmux is not installed: apt install tmux)"}`;
const fastest = runners.includes("process") ? "process" : "wasm";
const prompt = /(?:^|\n)>>> ?$/;

describe.skipIf(!hasTmux)(title, () => {
  const open = async (argv: readonly string[], env?: Record<string, string>) => {
    const terminal = await TmuxTerminal.start(["repl", ...argv], env);
    onTestFinished(() => terminal[Symbol.asyncDispose]());
    await terminal.sees(prompt);
    return terminal;
  };
  /** Types a line and waits for the next prompt below what it must show. */
  const enter = async (terminal: TmuxTerminal, line: string, shown: string | RegExp) => {
    await terminal.type(line, "Enter");
    await terminal.sees(shown);
    await terminal.sees(prompt);
  };

  describe.each(runners)("in the %s runner", (runner) => {
    test("completes, pastes, searches, inspects, measures and is interrupted", async () => {
      const terminal = await open(["--runner", runner]);

      await terminal.paste(
        'def area(width, height=2):\n    """Width times height."""\n\n    size = width\n\n    return size * height\n\narea(21)\n',
      );
      await terminal.sees("... area(21)");
      expect(await terminal.screen()).not.toContain("\n42");
      await terminal.type("Enter");
      await terminal.sees(/area\(21\)\n42\n>>> ?$/);

      await terminal.type("are", "Tab");
      await terminal.sees(/>>> area$/);
      await terminal.type(".__na", "Tab", "Enter");
      await terminal.sees(/area\.__name__\n'area'\n>>> ?$/);

      await enter(
        terminal,
        "area?",
        /Signature: +area\(width, height=2\)\nType: +function\n.*Docstring: +Width times height\./s,
      );
      await enter(terminal, "area??", /Source:\ndef area\(width, height=2\):/);
      await enter(terminal, "nothing?", "codecell: there is no nothing in this session");
      await enter(terminal, "%timeit -n 5 -r 2 area(1)", /per loop \(mean ± std\. dev\. of 2 runs, 5 loops each\)/);
      await enter(terminal, "total = 7", /total = 7\n>>>/);
      await enter(terminal, "%who", /%who\narea +total\n/);

      await terminal.type("C-r");
      await terminal.sees("(reverse-i-search)`':");
      await terminal.type("are");
      await terminal.sees("(reverse-i-search)`are': %timeit -n 5 -r 2 area(1)");
      await terminal.type("a(2");
      await terminal.sees("(reverse-i-search)`area(2': area(21)");
      await terminal.type("Enter");
      await terminal.sees(/>>> area\(21\)\n42\n>>> ?$/);

      await terminal.type("import time; print('running', flush=True); time.sleep(100)", "Enter");
      await terminal.sees(/\nrunning$/);
      await terminal.paste("if total:\n    print('pasted')\n\n    print('meanwhile')\n");
      await terminal.type("C-c");
      await terminal.sees(
        /codecell: the run was interrupted\n>>> if total:\n(?:\.\.\. .*\n|\.\.\.\n)+\.\.\. {5}print\('meanwhile'\)$/,
      );
      await terminal.type("Enter");
      await terminal.sees(/\npasted\nmeanwhile\n>>> ?$/);
      await terminal.type("half a li");
      await terminal.sees(/>>> half a li$/);
      await terminal.type("C-c");
      await terminal.sees(/>>> ?\n>>> ?$/);
      await enter(terminal, "total", /\n7\n>>>/);

      await terminal.type("C-d");
      await terminal.sees("exit code 0");
    });
  });

  test("keeps variables and history of --session for the next repl, one user at a time", async () => {
    const stateDir = await mkdtemp(join(tmpdir(), "codecell-repl-"));
    onTestFinished(() => rm(stateDir, { recursive: true }));
    await chmod(stateDir, 0o711); // under root, cells run as another user
    const name = `repl-${fastest}`;
    const argv = ["--runner", fastest, "--session", name, "--state-dir", stateDir];
    const first = await open(argv);
    await enter(first, "kept = 42", /kept = 42\n>>>/);
    const meanwhile = await codecell(["repl", ...argv], { stdin: "1\n" });
    expect(meanwhile).toMatchObject({ code: 75, stdout: "" });
    expect(meanwhile.stderr).toContain(`session ${name} is open in another process`);
    await first.type("C-d");
    await first.sees("exit code 0");

    const second = await open(argv);
    await second.type("ke", "Tab", "Enter");
    await second.sees(/>>> kept\n42\n(?:codecell: .*\n)?>>> ?$/);
    await enter(second, "%history", /%history\nkept = 42\nkept\n>>>/);
    await second.type("%exit", "Enter");
    await second.sees("exit code 0");

    expect(await codecellHere(["run", ...argv, "-c", "kept"])).toMatchObject({ code: 0, stdout: "42\n" });
  });

  test("shows a syntax error where it is, with colours in a terminal that has them", async () => {
    const terminal = await open(["--runner", fastest]);
    await enter(terminal, "x = = 1", / {4}x = = 1\n {8}\^\nSyntaxError: invalid syntax/);
    const coloured = await terminal.screen({ colours: true });
    expect(coloured).toContain("\u001b[32m>>> ");
    expect(coloured).toContain("\u001b[1mSyntaxError\u001b[0m");
  });

  test.each([{ NO_COLOR: "1" }, { TERM: "dumb" }])("shows no colours with %j", async (env) => {
    const terminal = await open(["--runner", fastest], env);
    await enter(terminal, "1/0", "ZeroDivisionError: division by zero");
    expect(await terminal.screen({ colours: true })).not.toContain("\u001b");
  });

  test("keeps the prompt while an object's own code would hang or print escape sequences", async () => {
    const terminal = await open(["--runner", fastest]);
    await terminal.paste(
      [
        "class Trap(dict):",
        "    def __dir__(self):",
        "        while True: pass",
        "",
        "    def __getattr__(self, name):",
        "        while True: pass",
        "",
        "trap = Trap()",
        "trap.__dict__['escape\\x1b]0;title\\x07'] = 1",
        "trap.inner = 1",
      ].join("\n"),
    );
    await terminal.type("Enter");
    await terminal.sees(prompt);
    await terminal.type("trap.in", "Tab");
    await terminal.sees(/>>> trap\.inner$/);
    await terminal.type("C-c");
    await terminal.type("trap.es", "Tab", "Tab", "cape");
    await terminal.sees(/>>> trap\.escape$/);
  });
});

test("codecell repl puts the lines that a command prints into a list", {
  skip: !runners.includes("process"),
}, async () => {
  const stdin = "names = !echo a; echo b\nnames\nnone = !true\nnone\n";
  const { code, stdout } = await codecellHere(["repl", "--runner", "process"], { stdin });
  expect({ code, stdout }).toEqual({ code: 0, stdout: "['a', 'b']\n[]\n" });
});
