import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { FakeRunner } from "../../../test/fakes/fake-runner.ts";
import { silentAudit } from "../../audit/audit.ts";
import { Codecell } from "../../sessions/codecell.ts";
import type { LazySandbox } from "../lazy-sandbox.ts";
import { sandboxFor } from "../sandbox-for.ts";
import { callTool } from "./call-tool.ts";
import { rlmLoadTool } from "./rlm-load.ts";

let sandbox: LazySandbox;
beforeEach(async () => {
  const projectDir = await mkdtemp(join(tmpdir(), "cc-load-"));
  onTestFinished(() => rm(projectDir, { recursive: true }));
  await writeFile(join(projectDir, "d.csv"), "a\n1\n");
  const policy = { fs: { load: [projectDir] } };
  const codecell = await Codecell.open({ runners: [new FakeRunner()], audit: silentAudit, policy });
  onTestFinished(() => codecell.close());
  sandbox = sandboxFor(codecell, { projectDir });
});

async function failure(args: object): Promise<string> {
  const { isError, content } = await callTool(rlmLoadTool, sandbox, {
    ...{ args, context: { signal: new AbortController().signal } },
  });
  expect(isError).toBe(true);
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

test("a missing file of the project is not looked for among the files of the session", async () => {
  expect(await failure({ path: "nope.csv", var_name: "e" })).toBe(
    "file_missing: nope.csv does not exist\nnext: check the path: a relative one starts at the project directory",
  );
});

test.each(["1x", "a b"])("the variable name %j is refused with what a name may have", async (name) => {
  expect(await failure({ path: "d.csv", var_name: name })).toBe(
    [
      `usage: "${name}" is not the name of a Python variable`,
      "hint: use letters, digits and underscores, not a digit first",
      "next: correct the arguments and call again",
    ].join("\n"),
  );
});
