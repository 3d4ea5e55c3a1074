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

describe("the receipt rows of the host", () => {
  test("the rows of the host and of a runner cover every rule exactly once", () => {
    const own = hostRules(parsePolicy({}), facts).map(({ rule }) => rule);
    expect([...own, ...cellRuleNames].sort()).toEqual([...ruleNames].sort());
  });

  test("the audit row says nobody if the program turned the audit off", () => {
    for (const rule of ["audit.enabled", "audit.code", "audit.durable", "audit.keep", "audit.age"]) {
      expect(row(rule, {}, { audit: "none" })).toMatchObject({ by: "nobody" });
    }
  });

  test("the audit rows claim nothing about an audit that the program provides", () => {
    expect(row("audit.keep", {}, { audit: "given" })).toMatchObject({ by: "nobody" });
    expect(row("audit.enabled", {}, { audit: "given" })?.how).toContain("the program's own audit");
  });

  test("the session.persist row says that files which only the cell holds come from the last save", () => {
    const policy = { session: { persist: true } };
    expect(row("session.persist", policy, { keepsFiles: false })?.how).toContain(
      "files of the cell as at the last save",
    );
    expect(row("session.persist", policy)?.how).not.toContain("files of the cell");
  });

  test("the rows about models say what enforces them only where models are set up and allowed", () => {
    const rows = (llm: PolicyInput["llm"], models: boolean) =>
      hostRules(parsePolicy({ llm }), { ...facts, hostCalls: { models } }).filter(({ rule }) =>
        rule.startsWith("llm."),
      );
    for (const { how } of rows({}, true)) expect(how).toBe("the cell has no function that calls a model");
    for (const { how } of rows({ models: ["*"] }, false)) expect(how).toMatch(/^not used: no model is set up here/);
    for (const { how } of rows({ models: ["*"] }, true)) expect(how).toMatch(/^the host('s gateway)? /);
    expect(
      row("llm.usd", { llm: { models: ["*"], usd: "unlimited" } }, { hostCalls: { models: true } })?.how,
    ).toContain("money is not limited");
  });

  test("the rows about tools say what enforces them only where servers are set up and tools allowed", () => {
    const rows = (tools: PolicyInput["tools"], isSetUp: boolean) =>
      hostRules(parsePolicy({ tools }), { ...facts, hostCalls: { tools: isSetUp } }).filter(({ rule }) =>
        rule.startsWith("tools."),
      );
    for (const { how } of rows({}, true)) expect(how).toMatch(/^the cell has no function that calls a tool/);
    for (const { how } of rows({ allow: ["*/*"] }, false)) expect(how).toMatch(/^not used: no other MCP server/);
    expect(new Set(rows({ allow: ["*/*"] }, true).map(({ how }) => how)).size).toBe(5);
  });

  test("an audit log counts as codecell's own only if it keeps as much as the policy says", () => {
    const policy = parsePolicy({});
    const own = openAudit(policy, { stateDir: "/nowhere" });
    expect(auditKind(policy, own)).toBe("own");
    expect(auditKind(parsePolicy({ audit: { keep: "1MiB" } }), own)).toBe("given");
    expect(auditKind(policy, silentAudit)).toBe("none");
    expect(auditKind(parsePolicy({ audit: { enabled: false } }), own)).toBe("none");
  });
});
