import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FakeRunner } from "../../../../test/fakes/fake-runner.ts";
import { FakeTerminal } from "../../../../test/fakes/fake-terminal.ts";
import { openTestWorkspace } from "../../../../test/support/test-workspace.ts";
import { main } from "../main.ts";

const missing = { available: false, reason: "Docker is not running", hint: "start Docker" } as const;

async function explain(policy: string, runners: () => FakeRunner[]) {
  await using workspace = await openTestWorkspace();
  const cwd = workspace.base;
  await writeFile(join(cwd, "given.yaml"), policy);
  const terminal = new FakeTerminal({ cwd });
  const code = await main(["policy", "explain", "given.yaml"], { terminal, runners });
  return { code, lines: terminal.stdout.text.split("\n") };
}

test("a minimum that no available runner reaches is explained with the strongest available runner", async () => {
  const { code, lines } = await explain("isolation: { minimum: gvisor }\n", () => [
    new FakeRunner({ name: "wasm" }),
    new FakeRunner({ name: "process" }),
    new FakeRunner({ name: "gvisor", probe: missing }),
    new FakeRunner({ name: "container", probe: missing }),
  ]);
  expect(code).toBe(3);
  expect(lines.slice(1, 5)).toEqual([
    "runner: process (fake 1)",
    "skipped gvisor: Docker is not running (start Docker)",
    "skipped container: Docker is not running (start Docker)",
    "",
  ]);
  const refusal = "  isolation.minimum (gvisor): process is weaker than isolation.minimum, which is gvisor";
  expect(lines).toContain(refusal);
  expect(lines.filter((line) => line.startsWith("isolation.minimum "))).toEqual([]);
});

test("a refused rule is explained with the strongest runner that is available", async () => {
  const refused = [{ rule: "kernel.image", value: "x", reason: "no images", hint: "remove it" }];
  const { code, lines } = await explain("kernel: { image: x }\n", () => [
    new FakeRunner({ name: "wasm", refused }),
    new FakeRunner({ name: "process", refused }),
    new FakeRunner({ name: "container", probe: missing }),
  ]);
  expect(code).toBe(3);
  expect(lines).toContain("runner: process (fake 1)");
  expect(lines).toContain("skipped container: Docker is not running (start Docker)");
  expect(lines).toContain("  kernel.image (x): no images");
});

test("a runner that the policy names is explained although it refuses a rule", async () => {
  const refused = [{ rule: "kernel.image", value: "x", reason: "no images", hint: "remove it" }];
  const { code, lines } = await explain("isolation: { runner: wasm }\nkernel: { image: x }\n", () => [
    new FakeRunner({ name: "wasm", refused }),
    new FakeRunner({ name: "process" }),
  ]);
  expect(code).toBe(3);
  expect(lines).toContain("runner: wasm (fake 1)");
});
