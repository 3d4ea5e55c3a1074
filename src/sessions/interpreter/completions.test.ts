import { expect, test } from "vitest";
import { completionTarget } from "./completion-target.ts";
import { completionsOf } from "./completions.ts";

const offered = (code: string, ...texts: string[]) => {
  const matches = texts.map((text) => ({ text, kind: "value" }));
  return completionsOf(completionTarget(code, code.length), code.length, { matches, truncated: false }).matches;
};

test("completions that the cell forged are dropped: another prefix, no name, or invisible characters", () => {
  expect(offered("pri", "price", "other", "pri\u001b[31m", "pri;import os", "pri()")).toEqual([
    { text: "price", kind: "value" },
  ]);
  expect(offered("d['", "a b", "a\u001b]52;c;x\u0007", "a\u202eb")).toEqual([{ text: "a b']", kind: "value" }]);
});

test("keywords and names are in one order", () => {
  expect(offered("i", "int", "iter").map(({ text }) => text)).toEqual(["if", "import", "in", "int", "is", "iter"]);
});

test("a kind that the cell invents is a value", () => {
  const target = completionTarget("x", 1);
  const list = { matches: [{ text: "xy", kind: "\u001b[31m" }], truncated: true };
  expect(completionsOf(target, 1, list)).toMatchObject({ matches: [{ text: "xy", kind: "value" }], truncated: true });
});
