import { expect, test } from "vitest";
import type { CodeSession } from "../../sessions/code-session.ts";
import { Workspace } from "./workspace.ts";

const workspace = new Workspace({} as CodeSession, { ownDirectories: ["/large_tool_results"] });

test.each([
  ["a.txt", "a.txt"],
  ["./b/../a.txt", "a.txt"],
  ["/workspace/b/a.txt", "b/a.txt"],
  ["/workspace//b/./a.txt", "b/a.txt"],
  ["/workspace", ""],
  ["/large_tool_results/1.txt", "large_tool_results/1.txt"],
])("the path %s is in the workspace", (path, relative) => {
  expect(workspace.relative(path)).toBe(relative);
});

test.each([
  "..",
  "../a",
  "/",
  "/etc/passwd",
  "/workspace/../etc",
  "/workspaces/a",
  "b/../../a",
  "/large_tool_results/../a",
])("the path %s is not in the workspace and is refused", (path) => {
  expect(() => workspace.relative(path)).toThrow(expect.objectContaining({ code: "file_refused" }));
});
