import { expect, test } from "vitest";
import { nameRule } from "./allowed-names.ts";

test.each([
  ["numpy", ["*"], [], "allowed"],
  ["numpy", ["num*"], [], "allowed"],
  ["google-cloud-storage", ["google-*-storage"], [], "allowed"],
  ["google-storage", ["google-*-storage"], [], "not allowed"],
  ["foo-bar", ["Foo_Bar"], [], "allowed"],
  ["numpy", [], [], "not allowed"],
  ["numpy", ["*"], ["*"], "denied"],
  ["numpy", ["numpy"], ["n*y"], "denied"],
  ["abab", ["ab*ab"], [], "allowed"],
  ["aba", ["ab*ba"], [], "not allowed"],
] as const)("%s under allow %j and deny %j is %s", (name, allow, deny, rule) => {
  expect(nameRule(name, { allow, deny })).toBe(rule);
});
