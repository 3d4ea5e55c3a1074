import { describe, expect, test } from "vitest";
import { cellRuleNames } from "../../policy/rules.ts";
import { type PolicyInput, policySchema } from "../../policy/schema.ts";
import { planSrt } from "./plan.ts";

const plan = (input: PolicyInput = {}) => planSrt(policySchema().parse(input));

describe("planSrt", () => {
  test("has one row per rule of a cell and refuses no rule of the empty policy", () => {
    const { rules, refused } = plan();
    expect(rules.map((one) => one.rule)).toEqual(cellRuleNames);
    expect(refused).toEqual([]);
  });

  test.each<[string, PolicyInput]>([
    ["isolation.minimum", { isolation: { minimum: "process" } }],
    ["fs.deps", { fs: { deps: "/srv/deps" } }],
    ["fs.mounts", { fs: { mounts: [{ source: "/srv/data", target: "/data" }] } }],
    ["net.enabled", { net: { enabled: true } }],
    ["proc.cpus", { proc: { cpus: 0.5 } }],
    ["kernel.image", { kernel: { image: "python:3.12" } }],
  ])("refuses %s with a reason and a fix", (name, input) => {
    const { rules, refused } = plan(input);
    expect(refused.map((one) => one.rule)).toEqual([name]);
    expect(refused[0]?.reason).not.toBe("");
    expect(refused[0]?.hint).not.toBe("");
    expect(rules.map((one) => one.rule)).not.toContain(name);
  });

  test("accepts a mount with the same source and target", () => {
    expect(plan({ fs: { mounts: [{ source: "/srv/data", target: "/srv/data" }] } }).refused).toEqual([]);
  });

  test("does not claim that the OS enforces limits of a watchdog", () => {
    const by = Object.fromEntries(plan().rules.map((one) => [one.rule, one.by]));
    expect(by).toMatchObject({
      "proc.memory": "supervisor watchdog",
      "proc.disk": "host watchdog",
      "proc.pids": "os",
    });
  });

  test("has notes about the missing /workspace and about what code can learn of the host", () => {
    const notes = plan().notes.join("\n");
    for (const part of ["/workspace does not exist", "no UTS or cgroup namespace", "paths of mounts"])
      expect(notes).toContain(part);
  });
});
