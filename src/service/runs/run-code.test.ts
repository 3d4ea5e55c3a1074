import { expect, test } from "vitest";
import { FakeRunner } from "../../../test/fakes/fake-runner.ts";
import { Codecell } from "../../sessions/codecell.ts";
import { Sandbox } from "../sandbox.ts";
import { codeToolOf } from "../tools/code-tool.ts";
import { runCode } from "./run-code.ts";

const openCodecell = () => Codecell.open({ policy: { proc: { timeout: "2s" } }, runners: [new FakeRunner()] });
const note = "the policy limits runs to 2s";
const context = { signal: new AbortController().signal };

test("a tool's result says once that the policy shortened the requested time, and nothing without a request", async () => {
  await using sandbox = new Sandbox({ projectDir: "/nowhere", open: openCodecell });
  const session = await (await sandbox.sessions()).session();
  const told = async (timeoutSeconds?: number) => {
    const { facts } = await runCode(sandbox, session, { code: "1", timeoutSeconds, waitSeconds: 30 }, context);
    return facts.notes;
  };
  expect(await told(3600)).toEqual([note]);
  expect(await told(1)).toEqual([]);
  expect(await told()).toEqual([]);
});

test("the tool of a framework says once that the policy shortened the requested time", async () => {
  await using codecell = await openCodecell();
  const tool = codeToolOf(await codecell.session());
  expect((await tool.call({ code: "1", timeout: 3600 })).text.split(note)).toHaveLength(2);
  expect((await tool.call({ code: "1", timeout: 2 })).text).not.toContain(note);
});
