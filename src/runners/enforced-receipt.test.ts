import { expect, test } from "vitest";
import { enforcedReceipt } from "./enforced-receipt.ts";

const cell = { runner: "wasm", runnerVersion: "pyodide 1", policyHash: "abc" } as const;
const held = { rule: "proc.files", value: "64", by: "runtime", how: "counted" } as const;
const refused = { rule: "proc.cpus", value: "0.5", reason: "no quota here", hint: "set proc.cpus to 1" };

test("a receipt has the rows and the notes of the plan", () => {
  const plan = { rules: [held], refused: [], notes: ["a note"] };
  expect(enforcedReceipt(plan, cell)).toEqual({ ...cell, rules: [held], notes: ["a note"] });
});

test("a plan that refuses a rule gives no receipt, but an error with the rule and the fix", () => {
  const plan = { rules: [held], refused: [refused], notes: [] };
  expect(() => enforcedReceipt(plan, cell)).toThrow(
    expect.objectContaining({
      code: "policy_refused",
      message: "the wasm runner refuses proc.cpus (0.5): no quota here",
      hint: "set proc.cpus to 1",
      details: { runner: "wasm", refused: [refused] },
    }),
  );
});
