import { expect, test } from "vitest";
import { functionNames } from "./function-names.ts";

const names = (...tools: [string, string][]) => [
  ...functionNames(tools.map(([server, tool]) => ({ server, tool }))).keys(),
];

test("a tool's function has the names of its server and of the tool", () => {
  expect(names(["docs", "search"], ["git-hub", "issues.list"], ["9p", "größe"])).toEqual([
    ...["docs_search", "git_hub_issues_list", "tool_9p_gr__e"],
  ]);
});

test("two tools that would have the same name both get a suffix, in whatever order they come", () => {
  const [first = "", second = ""] = names(["a", "b_c"], ["a_b", "c"]);
  expect(first).toMatch(/^a_b_c_[0-9a-f]{8}$/);
  expect(second).toMatch(/^a_b_c_[0-9a-f]{8}$/);
  expect(names(["a_b", "c"], ["a", "b_c"])).toEqual([second, first]);
});

test("no tool takes the name that another one has with its suffix", () => {
  const [first = ""] = names(["a", "b_c"], ["a_b", "c"]);
  const taken = names(["a", "b_c"], ["a_b", "c"], ["a", first.slice(2)]);
  expect(taken).toHaveLength(3);
  expect(new Set(taken).size).toBe(3);
  expect(taken[2]).not.toBe(first);
});

test("no tool takes a name that Python or codecell uses", () => {
  for (const name of names(["_", "import__"], ["llm", "query"], ["mcp", "tools"], ["rlm", "query_batched"])) {
    expect(name).toMatch(/^[A-Za-z]/);
    expect(["__import__", "llm_query", "mcp_tools", "rlm_query_batched"]).not.toContain(name);
  }
});

test("a long name is cut to 64 characters and stays unique", () => {
  const long = "x".repeat(100);
  const found = names(["a", `${long}1`], ["a", `${long}2`]);
  expect(new Set(found).size).toBe(2);
  for (const name of found) expect(name).toHaveLength(64);
});
