import { describe, expect, test } from "vitest";
import { mergePolicy } from "../change/merge.ts";
import { parsePolicy } from "../file/parse-policy.ts";
import type { PolicyInput, PolicyOverride } from "../schema.ts";
import { allowsTool } from "./tool-glob.ts";

const reading = { server: "github", tool: "search_issues", isReadOnly: true };
const writing = { server: "github", tool: "create_issue", isReadOnly: false };

describe("tools.allow", () => {
  test.each([
    [["github/*"], reading, true],
    [["*/search_*"], reading, true],
    [["*/*"], reading, true],
    [["github/search_issues"], reading, true],
    [["gitlab/*"], reading, false],
    [["git*/create_*"], reading, false],
    [[], reading, false],
    // a star of the server's part does not reach into the tool's
    [["*/issues"], { server: "a", tool: "b/issues", isReadOnly: true }, false],
    [["a/*"], { server: "a", tool: "b/issues", isReadOnly: true }, true],
  ])("permits by %j the tool %j: %s", (globs, tool, isAllowed) => {
    expect(allowsTool(globs, tool)).toBe(isAllowed);
  });

  test("permits a tool that may change something only by its exact name", () => {
    for (const glob of ["*/*", "github/*", "github/create_issue*", "github/creat*_issue"]) {
      expect([glob, allowsTool([glob], writing)]).toEqual([glob, false]);
    }
    expect(allowsTool(["github/create_issue"], writing)).toBe(true);
  });

  test.each(["github", "/x", "github/", "a b/c", "github/ls;rm", "../x/*\n"])("rejects the entry %j", (entry) => {
    expect(() => parsePolicy({ tools: { allow: [entry] } })).toThrow(/expected a server and a tool/);
  });
});

describe("an override of the section tools", () => {
  const merge = (tools: PolicyInput["tools"], override: PolicyOverride["tools"]) => {
    try {
      return mergePolicy(parsePolicy({ tools }), { tools: override }, "model").policy.tools;
    } catch (error) {
      return (error as { code: string }).code;
    }
  };

  test("may lower every limit", () => {
    const lower = { allow: ["docs/search*"], calls: 1, timeout: "1s", arguments: "1KiB", result: "1KiB" };
    expect(merge({ allow: ["docs/*", "github/create_issue"] }, lower)).toMatchObject({
      ...{ allow: ["docs/search*"], calls: 1, timeoutMs: 1000, argumentsBytes: 1024, resultBytes: 1024 },
    });
    expect(merge({ allow: ["docs/*", "github/create_issue"] }, { allow: ["github/create_issue"] })).toMatchObject({
      allow: ["github/create_issue"],
    });
  });

  test.each([
    { allow: ["*/*"] },
    { allow: ["web/*"] },
    // the exact name of a tool permits it even if it changes something
    { allow: ["docs/delete"] },
    { calls: 101 },
    { timeout: "31s" },
    { arguments: "1MiB" },
    { result: "2MiB" },
  ])("may not raise one: %j", (override) => {
    expect(merge({ allow: ["docs/*"] }, override)).toBe("override_refused");
  });
});
