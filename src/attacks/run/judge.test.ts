import { expect, test } from "vitest";
import type { RunResult } from "../../sessions/runs/run.ts";
import type { AttackTier } from "../attack.ts";
import { attacks } from "../catalogue/index.ts";
import type { AttackProgram } from "../program.ts";
import { judge, judgeStatement } from "./judge.ts";

const attack = (id: string) => {
  const found = attacks.find((one) => one.id === id);
  if (!found) throw new Error(`no attack ${id}`);
  return found;
};
const said = (id: string, tier: AttackTier, text: string) =>
  judgeStatement(attack(id), tier, { kind: "verdict", text }).verdict;
const ended = (id: string, tier: AttackTier, status: string) => {
  const result = { status, notes: [], stdout: "" } as unknown as RunResult;
  return judge(attack(id), tier, { result, program: {} as AttackProgram }).verdict;
};

test("a pod under gVisor is judged as gVisor and as a pod", () => {
  expect(said("exhaustion/priority", "kubernetes", "got it")).toBe("harmed");
  expect(said("exhaustion/priority", "kubernetes-gvisor", "got it")).toBe("contained");
  expect(ended("exhaustion/disk-empty-files", "gvisor", "out_of_memory")).toBe("failed");
  expect(ended("exhaustion/disk-empty-files", "kubernetes-gvisor", "out_of_memory")).toBe("contained");
  expect(said("exhaustion/disk-empty-files", "kubernetes", "kept 4500 files")).toBe("harmed");
  expect(said("exhaustion/disk-empty-files", "kubernetes-gvisor", "kept 4500 files")).toBe("contained");
  expect(said("network/interfaces", "kubernetes", "found eth0")).toBe("contained");
  expect(said("network/interfaces", "kubernetes-gvisor", "found eth0")).toBe("harmed");
  expect(said("proc/kallsyms", "kubernetes-gvisor", "read")).toBe("harmed");
});
