import { appendFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeTerminal } from "../../../test/fakes/fake-terminal.ts";
import { writeSampleTrajectory } from "../../../test/fakes/sample-trajectory.ts";
import { main } from "./main.ts";

let cwd: string;
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), "codecell-rlm-show-"));
  await writeSampleTrajectory(join(cwd, "run.jsonl"));
});
afterEach(() => rm(cwd, { recursive: true, force: true }));

async function cli(argv: string[], options: { isTTY?: boolean } = {}) {
  const terminal = new FakeTerminal({ cwd, ...options });
  const code = await main(["rlm", "show", ...argv], { terminal, runners: () => [] });
  return { code, stdout: terminal.stdout.text, stderr: terminal.stderr.text };
}

test("rlm show prints the tree of turns, code, output, sub-calls and costs", async () => {
  const { code, stdout } = await cli(["run.jsonl"]);
  expect(code).toBe(0);
  expect(stdout.split("\n")[0]).toBe("rlm-7f3a submitted · 7.8 s · 12 calls · 9,324 tokens · $0.0193");
  expect(stdout).toContain("├─ turn 2/20 · 3.0 s · $0.0044\n");
  expect(stdout).toContain("│  ├─ openai/small failed · 985 ms · 0 tokens · $0 → rate limit: 429\n");
  expect(stdout).toContain("│  ├─ … 4 more sub-calls\n");
  expect(stdout).toContain("│  ├─ rlm-7f3a.1 submitted · 1.4 s · 1 call · 940 tokens · $0.0033\n");
  expect(stdout).toContain('│     └─ count: expected int, got str "six"\n');
  expect(stdout).toContain("└─ count = 6\n");
  expect(stdout).toMatch(/\n\d+ lines, last hash [0-9a-f]{64}\n$/);
});

test("rlm show keeps every line within the terminal and lets no control character of a program through", async () => {
  const { stdout } = await cli(["run.jsonl", "--full"], { isTTY: true });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: our own colours
  const plain = stdout.replace(/\u001b\[\d+m/g, "");
  expect(stdout).not.toBe(plain);
  expect(plain).toContain("^[]0;owned^G<U+202E>");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there
  expect(plain).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
  expect(plain.split("\n").filter((line) => line.length > 100)).toEqual([]);
});

test("rlm show has no colours in a pipe", async () => {
  expect((await cli(["run.jsonl", "--full"])).stdout).not.toContain("\u001b");
});

test("rlm show --html writes one page, and overwrites only with --force", async () => {
  expect(await cli(["run.jsonl", "--html", "run.html"])).toMatchObject({ code: 0, stderr: "wrote run.html\n" });
  expect(await readFile(join(cwd, "run.html"), "utf8")).toMatch(/^<!doctype html>[\s\S]*<\/html>\n$/);
  expect(await cli(["run.jsonl", "--html", "run.html"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("run.html already exists"),
  });
  expect((await cli(["run.jsonl", "--html", "run.html", "--force"])).code).toBe(0);
});

test("rlm show --json prints the tree with the cost of every node", async () => {
  const { code, stdout } = await cli(["run.jsonl", "--json"]);
  expect(code).toBe(0);
  const tree = JSON.parse(stdout);
  expect(tree).toMatchObject({ intact: true, root: { id: "rlm-7f3a", finish: "submitted", cost: { calls: 12 } } });
  expect(tree.root.turns[2].runs[0].cost.calls).toBe(1);
});

test("rlm show reports a changed line and exits with 1", async () => {
  const path = join(cwd, "run.jsonl");
  await writeFile(path, (await readFile(path, "utf8")).replace("count=6", "count=7"));
  const { code, stdout } = await cli(["run.jsonl"]);
  expect(code).toBe(1);
  expect(stdout).toContain("was changed: its hash does not match");
  expect(JSON.parse((await cli(["run.jsonl", "--json"])).stdout)).toMatchObject({ intact: false });
});

test("rlm show accepts a last line that a crash cut off", async () => {
  await appendFile(join(cwd, "run.jsonl"), '{"v":1,"seq":');
  expect(await cli(["run.jsonl"])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("the last line is cut off"),
  });
});

test("rlm show without a file, or with one that is no trajectory, says what to do", async () => {
  expect(await cli([])).toMatchObject({ code: 2, stderr: expect.stringContaining("needs FILE") });
  expect(await cli(["none.jsonl"])).toMatchObject({ code: 2, stderr: expect.stringContaining("does not exist") });
  expect(await cli(["run.jsonl", "--html", "a", "--json"])).toMatchObject({ code: 2 });
});
