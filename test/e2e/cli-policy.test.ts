import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { codecellHere } from "./codecell-here.ts";

let cwd: string;
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), "codecell-e2e-"));
});
afterEach(() => rm(cwd, { recursive: true }));

const policy = (...argv: string[]) => codecellHere(["policy", ...argv], { cwd });

test("codecell policy init writes a file that check, explain and run accept", async () => {
  expect(await policy("init")).toMatchObject({ code: 0, stdout: expect.stringContaining("sandbox.policy.yaml") });
  expect(await policy("check")).toMatchObject({ code: 0, stderr: "" });
  const { code, stdout } = await policy("explain");
  expect(code).toBe(0);
  expect(stdout).toMatch(/^proc\.timeout +30s +/m);
  expect(await codecellHere(["run", "-c", "'ok'"], { cwd })).toMatchObject({ code: 0, stdout: "'ok'\n" });
});

test("codecell policy init does not overwrite a file without --force", async () => {
  await writeFile(join(cwd, "sandbox.policy.yaml"), "proc: { timeout: 1s }\n");
  expect(await policy("init")).toMatchObject({ code: 2, stderr: expect.stringContaining("--force") });
  expect(await policy("init", "--force", "--preset", "data-analysis")).toMatchObject({ code: 0 });
  expect((await policy("check", "--json")).stdout).toContain('"ok":true');
});

test("codecell policy check reports file, line, column, rule and suggestion, never a stack trace", async () => {
  await writeFile(join(cwd, "bad.yaml"), "proc:\n  memry: 1GiB\n  timeout: 30\n");
  const { code, stdout, stderr } = await policy("check", "bad.yaml");
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(/bad\.yaml:2:3 {2}proc\.memry: .*did you mean memory\?/);
  expect(stderr).toMatch(/bad\.yaml:3:12 {2}proc\.timeout: .*did you mean 30s\?/);
  expect(stderr).not.toMatch(/^\s+at /m);
  const json = JSON.parse((await policy("check", "bad.yaml", "--json")).stdout);
  expect(json.error.details.problems).toHaveLength(2);
});

test("codecell policy explain says REFUSED with the reason and a hint, and exits with 3", async () => {
  await writeFile(join(cwd, "image.yaml"), "kernel: { image: 'no-such-image:none' }\n");
  const { code, stdout } = await policy("explain", "image.yaml");
  expect(code).toBe(3);
  expect(stdout).toMatch(/REFUSED[\s\S]*kernel\.image \(no-such-image:none\): .*\n +hint: /);
  expect(JSON.parse((await policy("explain", "image.yaml", "--json")).stdout)).toMatchObject({ holds: false });
});

test("codecell policy schema prints JSON Schema", async () => {
  const { code, stdout } = await policy("schema");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ type: "object", properties: { proc: {}, fs: {}, net: {} } });
});
