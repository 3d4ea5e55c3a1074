import { expect, test } from "vitest";
import { parsePolicy } from "../../policy/file/parse-policy.ts";
import type { PolicyInput } from "../../policy/schema.ts";
import { reloadedPolicy } from "./reloaded-policy.ts";

function reloaded(before: PolicyInput, after: PolicyInput, started: PolicyInput = before) {
  const [current, next] = [parsePolicy(before), parsePolicy(after)];
  return reloadedPolicy({ started: parsePolicy(started), current }, next);
}

test("a reload applies network rules and lists the rules that need a restart", () => {
  const { policy, changes, later } = reloaded(
    { net: { enabled: true, allowlist: ["a.example"] }, proc: { memory: "1GiB" }, env: { KEY: "one" } },
    { net: { enabled: true, allowlist: ["b.example"] }, proc: { memory: "2GiB" }, env: { KEY: "two" } },
  );
  expect(policy.net.allowlist).toEqual(["b.example"]);
  expect(policy.proc.memoryBytes).toBe(2 ** 30);
  expect(changes).toEqual([{ rule: "net.allowlist", from: "a.example", to: "b.example", direction: "wider" }]);
  expect(later).toEqual(["proc.memory", "env"]);
});

test("a reload can turn the network off and on again, but not give one to cells that started without", () => {
  const [on, off] = [{ net: { enabled: true } }, { net: { enabled: false } }];
  expect(reloaded(on, off)).toMatchObject({ policy: off, later: [] });
  expect(reloaded(off, on, on)).toMatchObject({ policy: on, later: [] });
  expect(reloaded(off, on)).toMatchObject({ policy: off, changes: [], later: ["net.enabled"] });
});

test("a reload applies a lower ceiling at once", () => {
  const ceiling = { net: { allowlist: ["a.example"] } };
  expect(reloaded({ overrides: { ceiling } }, {}).policy.overrides.ceiling).toEqual({});
});

test("a reload of the same policy changes nothing", () => {
  const same = { net: { enabled: true, allowlist: ["a.example"] } };
  expect(reloaded(same, same)).toMatchObject({ changes: [], later: [] });
});
