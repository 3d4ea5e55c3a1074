import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { openWorkspaceFiles } from "../../artifacts/workspace-files.ts";
import { parsePolicy } from "../../policy/file/parse-policy.ts";
import { LazySandbox } from "../lazy-sandbox.ts";
import type { Sessions } from "../tenants/tenant-sessions.ts";
import { callTool } from "./call-tool.ts";
import { readArtifactTool } from "./read-artifact.ts";

let sandbox: LazySandbox;
const context = { signal: new AbortController().signal };
beforeEach(async () => {
  const directory = await mkdtemp(join(tmpdir(), "cc-read-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  await writeFile(join(directory, "e.txt"), "x".repeat(100));
  await writeFile(join(directory, "empty.txt"), "");
  const files = await openWorkspaceFiles(directory);
  onTestFinished(() => files[Symbol.asyncDispose]());
  const session = { id: "s", files: async () => files };
  const sessions = { policy: parsePolicy({}), session: async () => session } as unknown as Sessions;
  sandbox = new LazySandbox({ projectDir: directory, open: async () => sessions, ownsSessions: false });
});

async function textOf(args: object): Promise<string> {
  const { content } = await callTool(readArtifactTool, sandbox, { args: { name: "e.txt", ...args }, context });
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

test.each([
  [{ start: 10, end: 5 }, "end must be more than start: e.txt has 100 bytes"],
  [{ start: 5, end: 5 }, "end must be more than start: e.txt has 100 bytes"],
  [{ end: 0 }, "end must be more than start: e.txt has 100 bytes"],
  [{ start: 500 }, "start is beyond the end of the file: e.txt has 100 bytes"],
  [{ start: 500, end: 10 }, "start is beyond the end of the file: e.txt has 100 bytes"],
])("the part %j, in which there can be nothing, is refused with the size", async (range, why) => {
  expect(await textOf(range)).toBe(`usage: ${why}\nnext: correct the arguments and call again`);
});

test("a part that starts at the end of a file is its normal end", async () => {
  const end = "e.txt (text/plain; charset=utf-8), end of the file at byte 100\n";
  expect(await textOf({ start: 100 })).toBe(end);
  expect(await textOf({ start: 100, end: 200 })).toBe(end);
});

test("parts within a file say where to continue, and an empty file is whole", async () => {
  const type = "(text/plain; charset=utf-8)";
  expect(await textOf({ start: 5, end: 10 })).toBe(
    `e.txt ${type}, bytes 5 to 10 of 100; continue with start=10\nxxxxx`,
  );
  expect(await textOf({ start: 98, end: 200 })).toBe(`e.txt ${type}, bytes 98 to 100 of 100\nxx`);
  expect(await textOf({ name: "empty.txt" })).toBe(`empty.txt ${type}, 0 bytes\n`);
  expect(await textOf({ name: "empty.txt", start: 0, end: 10 })).toBe(`empty.txt ${type}, 0 bytes\n`);
});
