import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FakeTerminal } from "../../../../test/fakes/fake-terminal.ts";
import { openTestWorkspace } from "../../../../test/support/test-workspace.ts";
import { main } from "../main.ts";

async function notes(policy: string) {
  await using workspace = await openTestWorkspace();
  await writeFile(join(workspace.base, "given.yaml"), policy);
  const terminal = new FakeTerminal({ cwd: workspace.base });
  expect(await main(["policy", "check", "given.yaml"], { terminal, runners: () => [] })).toBe(0);
  return terminal.stderr.text;
}

test.each(["{ enabled: true }", "{ enabled: true, allowlist: [], deny: [a.example] }"])(
  "policy check says of net: %s that no host can be reached",
  async (net) => {
    const note = "codecell: net.enabled: no host can be reached, because net.allowlist is empty\n";
    expect(await notes(`net: ${net}\n`)).toBe(note);
  },
);

test("policy check says nothing about the network if a host is allowed, or host programs may allow one", async () => {
  expect(await notes("net: { enabled: true, allowlist: [a.example] }\n")).toBe("");
  expect(
    await notes("net: { enabled: true }\noverrides: { ceiling: { net: { enabled: true, allowlist: [a.example] } } }\n"),
  ).toBe("");
});

test("policy check names the rules of a network that is off", async () => {
  const note = "codecell: net.allowlist: no effect, because net.enabled is false and cells have no network\n";
  expect(await notes("net: { allowlist: [a.example] }\n")).toBe(note);
});
