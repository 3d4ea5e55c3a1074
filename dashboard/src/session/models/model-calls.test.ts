import { expect, test } from "vitest";
import { type CallerNode, callTree, type ModelCall } from "./model-calls.ts";

const call = (by: string, cost_usd: number | null = 0.5): ModelCall => ({
  ...{ at: "2026-11-17T16:00:00.000Z", by, purpose: "sub", model: "m", input_tokens: 3, output_tokens: 2 },
  ...{ cost_usd, duration_ms: 1, status: "ok", source: "model" },
});

const names = (nodes: readonly CallerNode[]): unknown[] => nodes.map(({ by, below }) => [by, names(below)]);

test("calls are below the agent whose name theirs begins with, and are summed up", () => {
  const tree = callTree([call("r1"), call("r1.1"), call("r1.1.2", null), call("r1.1"), call("r2"), call("r3.1.1")]);
  expect(names(tree)).toEqual([
    ["r1", [["r1.1", [["r1.1.2", []]]]]],
    ["r2", []],
    ["r3.1.1", []],
  ]);
  expect(tree[0]?.total).toEqual({ calls: 4, tokens: 20, cost_usd: 1.5 });
});

test("a name with very many dots does not nest", () => {
  const deep = Array.from({ length: 300 }, (_, length) => call(`a${".1".repeat(length)}`));
  const depth = (nodes: readonly CallerNode[]): number => 1 + Math.max(0, ...nodes.map(({ below }) => depth(below)));
  expect(depth(callTree(deep))).toBeLessThan(20);
});
