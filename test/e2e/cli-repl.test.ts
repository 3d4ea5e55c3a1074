import { expect, test } from "vitest";
import { availableRunners, codecell } from "./codecell-process.ts";

const runners = await availableRunners();

test.each(runners)("codecell repl keeps variables between inputs in the %s runner", async (runner) => {
  const stdin = "x = 20\ndef f(n):\n    return n + 1\n\nf(x)\n1/0\nx\n%vars\n%reset\nx\n";
  const { code, stdout, stderr } = await codecell(["repl", "--runner", runner], { stdin });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^21\n20\nNAME.*\nx +int .*20\nf +function /);
  expect(stderr).toContain("ZeroDivisionError");
  expect(stderr).toContain("NameError: name 'x' is not defined");
});

test.skipIf(!runners.includes("process"))(
  "codecell repl keeps the shell's directory, and survives a crash",
  async () => {
    const stdin = "!cd /tmp\n!pwd\nimport os\nx = 'kept'\nos._exit(1)\n'alive'\n";
    const { code, stdout, stderr } = await codecell(["repl", "--runner", "process"], { stdin });
    expect(code).toBe(0);
    expect(stdout).toBe("/tmp\n'alive'\n");
    expect(stderr).toContain("codecell: the interpreter crashed");
  },
);

test("codecell repl says that a runner has no bash, and continues", async () => {
  const { code, stdout, stderr } = await codecell(["repl", "--runner", "wasm"], { stdin: "!ls\n'next'\n" });
  expect({ code, stdout }).toEqual({ code: 0, stdout: "'next'\n" });
  expect(stderr).toContain("bash is not available in the wasm runner");
});
