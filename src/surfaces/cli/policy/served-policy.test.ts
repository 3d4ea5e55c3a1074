import { expect, test } from "vitest";
import { FakeTerminal } from "../../../../test/fakes/fake-terminal.ts";
import { servedPolicy } from "./served-policy.ts";

const load = async (cwd: string, env: Record<string, string> = {}) =>
  (await servedPolicy({}, new FakeTerminal({ cwd, env }))).policy.fs.load;

test("files of the project may be loaded where nobody wrote a policy", async () => {
  expect(await load("/nowhere/project")).toEqual(["/nowhere/project"]);
  expect(await load("/", { CLAUDE_PROJECT_DIR: "/nowhere/project" })).toEqual(["/nowhere/project"]);
});

test("a server that was started in the root directory opens nothing of the machine", async () => {
  expect(await load("/")).toEqual([]);
});
