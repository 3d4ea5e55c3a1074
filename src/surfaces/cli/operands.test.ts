import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeTerminal } from "../../../test/fakes/fake-terminal.ts";
import { FileSessionStore } from "../../sessions/storage/files/file-session-store.ts";
import { main } from "./main.ts";

let cwd: string;

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), "codecell-operands-"));
  const store = await FileSessionStore.open(join(cwd, "state"));
  const workspace = "m000000000000-1";
  await mkdir(join(store.workspaces.directory, workspace), { recursive: true });
  await writeFile(join(store.workspaces.directory, workspace, "a.txt"), "hello");
  const times = { createdMs: 0, usedMs: 0, runs: 0, snapshot: undefined };
  await using held = await store.lock("demo");
  await held.write({ version: 1, id: "demo", workspace, ...times });
});
afterEach(() => rm(cwd, { recursive: true, force: true }));

async function cli(line: string) {
  const terminal = new FakeTerminal({ cwd });
  const words = line.split(" ");
  const code = await main(words, { terminal, runners: () => [] });
  return { code, stdout: terminal.stdout.text || String(terminal.stdout.bytes), stderr: terminal.stderr.text };
}

test.each([
  ["artifacts ls demo --state-dir state", "artifacts ls --session demo --state-dir state"],
  ["artifacts ls --state-dir state demo --json", "artifacts ls --json --state-dir state --session demo"],
  ["artifacts get demo a.txt --state-dir state", "artifacts get --session demo a.txt --state-dir state"],
  ["artifacts get --state-dir state demo a.txt", "artifacts get a.txt --session demo --state-dir state"],
  ["sessions show demo --state-dir state", "sessions show --session demo --state-dir state"],
])("codecell %s is the same as codecell %s", async (one, other) => {
  const result = await cli(one);
  expect(result).toEqual(await cli(other));
  expect(result).toMatchObject({ code: 0, stderr: "" });
  expect(result.stdout).toMatch(/a\.txt|hello/);
});

test("artifacts rm takes the session as its first operand, and deletes the other operands", async () => {
  expect(await cli("artifacts rm demo a.txt --state-dir state")).toMatchObject({ code: 0, stdout: "removed a.txt\n" });
  expect(await cli("artifacts ls demo --state-dir state")).toMatchObject({ stdout: "no files\n" });
});

test("artifacts rm with one operand and no session deletes nothing", async () => {
  const { code, stderr } = await cli("artifacts rm demo --state-dir state");
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("needs SESSION and NAME") });
  expect((await cli("artifacts ls demo --state-dir state")).stdout).toContain("a.txt");
});

test.each([
  ["artifacts ls demo --session other --state-dir state", 'two sessions are named: "demo" and --session "other"'],
  ["artifacts ls --state-dir state", "needs SESSION"],
  ["artifacts get --session demo a.txt out.txt --state-dir state", "write the file with --output out.txt"],
  ["artifacts get demo a.txt out.txt --state-dir state", 'unexpected argument "out.txt"'],
  ["audit show demo --session other --state-dir state", "two sessions are named"],
  ["token create alice --name bob --tokens tokens.json", "two names are given"],
])("codecell %s is a usage error that says %s", async (line, message) => {
  expect(await cli(line)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
});

test("token create takes the name as its operand", async () => {
  expect(await cli("token create alice --tokens tokens.json")).toMatchObject({ code: 0 });
  expect(await readFile(join(cwd, "tokens.json"), "utf8")).toContain("alice");
});

test("policy init takes the preset as its operand", async () => {
  expect((await cli("policy init data-analysis")).stdout).toContain("(data-analysis)");
  expect(await cli("policy init strict --preset data-analysis --force")).toMatchObject({ code: 2 });
  expect(await cli("policy init strickt --force")).toMatchObject({
    stderr: expect.stringContaining("did you mean strict?"),
  });
});
