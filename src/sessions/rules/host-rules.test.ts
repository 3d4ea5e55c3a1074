import { describe, expect, test } from "vitest";
import { silentAudit } from "../../audit/audit.ts";
import { parsePolicy } from "../../policy/file/parse-policy.ts";
import { cellRuleNames, ruleNames } from "../../policy/rules.ts";
import type { PolicyInput } from "../../policy/schema.ts";
import { openAudit } from "../open-audit.ts";
import { auditKind, type HostFacts, hostRules } from "./host-rules.ts";

const facts: HostFacts = { audit: "own", keepsFiles: true };
const row = (rule: string, policy: PolicyInput = {}, given: Partial<HostFacts> = {}) =>
  hostRules(parsePolicy(policy), { ...facts, ...given }).find((one) => one.rule === rule);

describe("the rules that codecell itself holds", () => {
  test("and those of the runners are every rule, each once", () => {
    const own = hostRules(parsePolicy({}), facts).map(({ rule }) => rule);
    expect([...own, ...cellRuleNames].sort()).toEqual([...ruleNames].sort());
  });

  test("say that nobody enforces the audit when the program turned it off", () => {
    for (const rule of ["audit.enabled", "audit.code", "audit.durable", "audit.keep", "audit.age"]) {
      expect(row(rule, {}, { audit: "none" })).toMatchObject({ by: "nobody" });
    }
  });

  test("claim nothing about what the program's own audit keeps", () => {
    expect(row("audit.keep", {}, { audit: "given" })).toMatchObject({ by: "nobody" });
    expect(row("audit.enabled", {}, { audit: "given" })?.how).toContain("the program's own audit");
  });

  test("say that a saved session comes back without its files where they end with the cell", () => {
    const policy = { session: { persist: true } };
    expect(row("session.persist", policy, { keepsFiles: false })?.how).toContain("files end with the cell");
    expect(row("session.persist", policy)?.how).not.toContain("files end");
  });

  test("take an audit log for codecell's own only when it keeps what the policy says", () => {
    const policy = parsePolicy({});
    const own = openAudit(policy, { stateDir: "/nowhere" });
    expect(auditKind(policy, own)).toBe("own");
    expect(auditKind(parsePolicy({ audit: { keep: "1MiB" } }), own)).toBe("given");
    expect(auditKind(policy, silentAudit)).toBe("none");
    expect(auditKind(parsePolicy({ audit: { enabled: false } }), own)).toBe("none");
  });
});
