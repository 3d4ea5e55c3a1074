import { expect, test } from "vitest";
import { FakeRunner } from "../../../../test/fakes/fake-runner.ts";
import { FakeTerminal } from "../../../../test/fakes/fake-terminal.ts";
import type { Logger } from "../../../lib/log/logger.ts";
import { main } from "../main.ts";

/** A runner whose probe logs what it waits for, as the runners of this package do. */
function slowRunner(logger: Logger) {
  const runner = new FakeRunner();
  const probe = runner.probe.bind(runner);
  runner.probe = async (options) => {
    logger.info("checking whether the wasm runner works …");
    return probe(options);
  };
  return runner;
}

async function doctor(argv: string[], isTTY: boolean) {
  const terminal = new FakeTerminal({ isTTY, env: { NO_COLOR: "1" } });
  const runners = (logger: Logger) => [slowRunner(logger)];
  const code = await main(["doctor", ...argv], { terminal, runners });
  return { code, stdout: terminal.stdout.text, stderr: terminal.stderr.text };
}

test("doctor says on a terminal what it is waiting for", async () => {
  const { code, stdout, stderr } = await doctor([], true);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("1 of 1 runner") });
  expect(stderr).toContain("codecell: checking whether the wasm runner works …\n");
});

test("doctor prints nothing on stderr for programs: without a terminal, and with --json", async () => {
  expect((await doctor([], false)).stderr).toBe("");
  expect((await doctor(["--json"], true)).stderr).toBe("");
});
