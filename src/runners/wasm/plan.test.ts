import { describe, expect, test } from "vitest";
import { cellRuleNames } from "../../policy/rules.ts";
import { type PolicyInput, policySchema } from "../../policy/schema.ts";
import { planWasm, type WasmFacts } from "./plan.ts";

const alone: WasmFacts = { hasBubblewrap: false, hasDataLimit: false, staysRoot: false };
const wrapped: WasmFacts = { hasBubblewrap: true, hasDataLimit: true, staysRoot: false };
const plan = (input: PolicyInput = {}, facts = alone) => planWasm(policySchema().parse(input), facts);
const rule = (name: string, facts: WasmFacts, input: PolicyInput = {}) =>
  plan(input, facts).rules.find((one) => one.rule === name);

describe("planWasm", () => {
  test("has one row per rule of a cell and refuses no rule of the empty policy", () => {
    const { rules, refused } = plan();
    expect(rules.map((one) => one.rule)).toEqual(cellRuleNames);
    expect(refused).toEqual([]);
  });

  test.each<[string, PolicyInput]>([
    ["isolation.minimum", { isolation: { minimum: "process" } }],
    ["fs.workspace", { fs: { workspace: "/srv/work" } }],
    ["fs.deps", { fs: { deps: "/srv/deps" } }],
    ["fs.mounts", { fs: { mounts: [{ source: "/srv/data", target: "/data" }] } }],
    ["net.enabled", { net: { enabled: true } }],
    ["proc.cpus", { proc: { cpus: 0.5 } }],
    ["proc.memory", { proc: { memory: "32MiB" } }],
    ["proc.memory", { proc: { memory: "8GiB" } }],
    ["session.recovery", { session: { recovery: "required" } }],
    ["kernel.preload", { kernel: { preload: ["json", "numpy"] } }],
    ["kernel.python", { kernel: { python: "/usr/bin/python3" } }],
  ])("refuses %s with a reason and a fix", (name, input) => {
    const { rules, refused } = plan(input);
    expect(refused.map((one) => one.rule)).toEqual([name]);
    expect(refused[0]?.reason).not.toBe("");
    expect(refused[0]?.hint).not.toBe("");
    expect(rules.map((one) => one.rule)).not.toContain(name);
  });

  test("lists the preloaded modules that the runtime does not have", () => {
    expect(plan({ kernel: { preload: ["json", "xml.etree", "numpy"] } }).refused[0]?.reason).toMatch(/: numpy$/);
  });

  test("says that the OS enforces files and network only with bubblewrap", () => {
    for (const name of ["fs.workspace", "fs.deny", "net.enabled"]) {
      expect(rule(name, alone)?.by).toBe("runtime");
      expect(rule(name, wrapped)?.by).toBe("os");
    }
  });

  test("says what a vulnerability in V8 would expose", () => {
    expect(plan({}, alone).notes.join(" ")).toContain("this user's network and files");
    expect(plan({}, wrapped).notes.join(" ")).not.toContain("this user's network and files");
  });

  test("has a note if the cell's process runs as root", () => {
    expect(plan({}, { ...alone, staysRoot: true }).notes.join(" ")).toContain("runs as root");
    expect(plan({}, alone).notes.join(" ")).not.toContain("runs as root");
  });

  test("names RLIMIT_DATA only if a shell can set it", () => {
    expect(rule("proc.memory", wrapped)?.how).toContain("RLIMIT_DATA");
    expect(rule("proc.memory", alone)?.how).not.toContain("RLIMIT_DATA");
  });

  test("says in a note what a crash loses, unless recovery is off", () => {
    expect(plan({ session: { recovery: "auto" } }).notes.join(" ")).toContain("but no files");
    expect(plan({ session: { recovery: "auto", persist: true } }).notes.join(" ")).toContain(
      "files from the last save",
    );
    expect(plan({ session: { recovery: "off" } }).notes.join(" ")).not.toContain("After a crash");
  });

  test("says that recovery uses snapshots, and that none is kept if recovery is off", () => {
    expect(rule("session.recovery", alone)?.how).toContain("from a snapshot");
    expect(rule("session.recovery", alone, { session: { recovery: "off" } })?.how).toContain("no snapshot is kept");
  });
});
