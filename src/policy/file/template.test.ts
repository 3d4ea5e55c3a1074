import { expect, test } from "vitest";
import { ruleNames } from "../rules.ts";
import { policyJsonSchema } from "./json-schema.ts";
import { parsePolicy } from "./parse-policy.ts";
import { parsePolicyText } from "./parse-policy-text.ts";
import { presetNames, presets } from "./presets.ts";
import { policyTemplate } from "./template.ts";

const options = { file: "sandbox.policy.yaml", baseDir: "/srv/project" };

test("the template parses to exactly the empty policy", () => {
  expect(parsePolicyText(policyTemplate(), options)).toEqual(parsePolicy({}));
  expect(parsePolicyText(policyTemplate(), options)).toEqual(parsePolicyText("", options));
});

test.each(presetNames)("the template of the preset %s parses to that preset", (name) => {
  expect(parsePolicyText(policyTemplate(presets[name]), options)).toEqual(parsePolicy(presets[name]));
});

test("the template explains every rule in a comment above it", () => {
  const lines = policyTemplate().split("\n");
  for (const rule of ruleNames) {
    const key = rule.split(".").at(-1);
    const at = lines.findIndex((line) => new RegExp(`^ *(?:# )?${key}: `).test(line));
    expect([rule, lines[at - 1]]).toEqual([rule, expect.stringMatching(/^ *# .+\.$/)]);
  }
});

test("the rules that the template shows in comments are valid", () => {
  const suggested = policyTemplate()
    .replace(/^( *)# (\w+: \S)/gm, "$1$2")
    .replace(/^env: .*\n/m, "");
  const policy = parsePolicyText(suggested, options);
  expect(policy.fs.workspace).toBe("/srv/project/work");
  expect(policy.overrides.ceiling.proc?.memoryBytes).toBe(4 * 2 ** 30);
});

test("the JSON Schema describes every rule for editors", () => {
  const schema = policyJsonSchema();
  expect(schema.$schema).toContain("2020-12");
  expect(schema.additionalProperties).toBe(false);
  for (const rule of ruleNames) {
    const field = rule.split(".").reduce<typeof schema | undefined>((node, key) => node?.properties?.[key], schema);
    expect([rule, field?.description]).toEqual([rule, expect.any(String)]);
  }
  const memory = schema.properties?.proc?.properties?.memory;
  expect("2GiB").toMatch(new RegExp(String(memory?.pattern)));
  expect("2gb").not.toMatch(new RegExp(String(memory?.pattern)));
});
