import { expect, test } from "vitest";
import { mergePolicy } from "./change/merge.ts";
import { defaultPolicy } from "./default-policy.ts";
import { parsePolicy } from "./file/parse-policy.ts";
import { overrideSchema, policySchema, runnerNames } from "./schema.ts";

test("the default policy is what the schema makes of an empty one, key by key", () => {
  expect(JSON.stringify(defaultPolicy())).toBe(JSON.stringify(policySchema().parse({})));
  expect(parsePolicy({})).toStrictEqual(policySchema().parse({}));
});

test("a caller that changes its default policy does not change the next one", () => {
  parsePolicy({}).fs.deny.push("*.secret");
  expect(parsePolicy({}).fs.deny).toEqual([]);
});

test("an empty list, a text and nothing at all are still checked by the schema", () => {
  for (const input of [[], "", 0, { unknown: 1 }]) expect(() => parsePolicy(input)).toThrow();
});

test.each(["auto", ...runnerNames])("an override that only names the runner %s is read as by the schema", (runner) => {
  const override = { isolation: { runner: runner as "auto" } };
  const ceiling = overrideSchema().parse(override);
  const base = { ...defaultPolicy(), overrides: { ceiling } };
  expect(mergePolicy(base, override, "host").policy.isolation).toStrictEqual({ runner, minimum: "wasm" });
});

test("an override with an unknown runner, or with a second rule, is checked by the schema", () => {
  const merge = (override: object) => () => mergePolicy(defaultPolicy(), override, "host");
  expect(merge({ isolation: { runner: "toString" } })).toThrow("isolation.runner");
  expect(merge({ isolation: { runner: "auto", minimum: "none" } })).toThrow("isolation.minimum");
  expect(merge({ isolation: { runner: "auto" }, other: 1 })).toThrow("other");
  expect(merge({ isolation: { runner: "auto" }, constructor: 1 })).toThrow("never allowed");
});
