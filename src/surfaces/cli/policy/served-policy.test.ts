import { expect, test } from "vitest";
import { FakeTerminal } from "../../../../test/fakes/fake-terminal.ts";
import { servedPolicy } from "./served-policy.ts";

const load = async (cwd: string, env: Record<string, string> = {}) =>
  (await servedPolicy({}, new FakeTerminal({ cwd, env }))).policy.fs.load;

test("codecell mcp without a policy file may load files of the project", async () => {
  expect(await load("/nowhere/project")).toEqual(["/nowhere/project"]);
  expect(await load("/", { CLAUDE_PROJECT_DIR: "/nowhere/project" })).toEqual(["/nowhere/project"]);
});

test("codecell mcp in the root directory may load no files", async () => {
  expect(await load("/")).toEqual([]);
});
