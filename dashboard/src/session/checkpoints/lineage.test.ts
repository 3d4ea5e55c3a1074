import { expect, test } from "vitest";
import { type Line, type LineageNode, linesOf } from "./lineage.ts";

function node(id: string, parent: string | null, kind: LineageNode["kind"] = "checkpoint"): LineageNode {
  const at = "2026-01-01T00:00:00Z";
  return { id, parent, kind, name: id, run: 1, at, session_id: null, state: null, can_roll_back: true };
}

/** `a b(c d) e`: a line with a branch after b */
const drawn = (line: Line): string =>
  line.map(({ node: { id }, branches }) => id + branches.map((branch) => `(${drawn(branch)})`).join("")).join(" ");
const lines = (nodes: LineageNode[], current: string) =>
  linesOf({ nodes, current: { node: current, run: 1 }, truncated: false }).map(drawn);

test("a history without branches is one line", () => {
  expect(lines([node("s", null, "start"), node("a", "s"), node("b", "a")], "b")).toEqual(["s a b"]);
});

test("the way to the present state is the main line, and what was left is a branch", () => {
  const nodes = [node("s", null, "start"), node("a", "s"), node("b", "a"), node("r", "a", "rollback"), node("c", "r")];
  expect(lines(nodes, "c")).toEqual(["s a(b) r c"]);
  expect(lines(nodes, "b")).toEqual(["s a(r c) b"]);
});

test("a fork is a branch, also at the end", () => {
  expect(lines([node("s", null, "start"), node("f", "s", "fork")], "s")).toEqual(["s(f)"]);
});

test("a node without a known parent starts a line, and a circle hangs nothing", () => {
  expect(lines([node("a", "gone"), node("b", "a")], "b")).toEqual(["a b"]);
  expect(lines([node("a", "b"), node("b", "a"), node("c", "c")], "a")).toEqual(["c"]);
});

test("a long history does not nest", () => {
  const nodes = Array.from({ length: 200 }, (_, index) => node(`n${index}`, index === 0 ? null : `n${index - 1}`));
  expect(linesOf({ nodes, current: { node: "n199", run: 1 }, truncated: false })[0]).toHaveLength(200);
});
