import { expect, test } from "vitest";
import { FakeTerminal } from "../../../../test/fakes/fake-terminal.ts";
import { CodecellError } from "../../../lib/errors.ts";
import { parsePolicy } from "../../../policy/file/parse-policy.ts";
import type { PolicyReload } from "../../../sessions/rules/reloaded-policy.ts";
import { isReloadSignal, PolicyReloader } from "./reload-policy.ts";

const change = { rule: "net.allowlist", from: "none", to: "a.example", direction: "wider" } as const;

async function announced(outcome: PolicyReload | Error): Promise<string[]> {
  const lines: string[] = [];
  const read = async () => {
    if (outcome instanceof Error) throw outcome;
    return parsePolicy({});
  };
  await new PolicyReloader(read, { announce: (line) => lines.push(line) }).reload({
    reloadPolicy: async () => outcome as PolicyReload,
  });
  return lines;
}

test("a policy reload names the rules that changed and those that need a restart", async () => {
  expect(await announced({ changes: [change], later: ["proc.memory", "env"] })).toEqual([
    "net.allowlist changed from none to a.example",
    "restart to apply changes of: proc.memory, env",
  ]);
  expect(await announced({ changes: [], later: [] })).toEqual(["the policy has not changed"]);
});

test("reloading an invalid policy changes nothing, and the next reload reads the file again", async () => {
  expect(await announced(new CodecellError("policy_invalid", "sandbox.policy.yaml:1:1  nte: unknown rule"))).toEqual([
    "kept the current policy: sandbox.policy.yaml:1:1  nte: unknown rule",
  ]);
  const lines: string[] = [];
  let times = 0;
  const reloader = new PolicyReloader(
    async () => {
      if (times++ === 0) throw new Error("not there");
      return parsePolicy({});
    },
    { announce: (line) => lines.push(line) },
  );
  const manager = { reloadPolicy: async () => ({ changes: [change], later: [] }) };
  await Promise.all([reloader.reload(manager), reloader.reload(manager)]);
  expect(lines).toEqual(["kept the current policy: not there", "net.allowlist changed from none to a.example"]);
});

test("SIGHUP reloads the policy unless stderr is a terminal", () => {
  expect(isReloadSignal("SIGHUP", new FakeTerminal())).toBe(true);
  expect(isReloadSignal("SIGHUP", new FakeTerminal({ isTTY: true }))).toBe(false);
  expect(isReloadSignal("SIGTERM", new FakeTerminal())).toBe(false);
});
