import { describe, expect, test } from "vitest";
import { decide, isSandboxTool } from "./tool-request.ts";

const run = "mcp__sandboxed_code__run";
const named = new Set(["Read", "mcp__office__stamp", run]);

function decided(tool: string, server?: { name: string; source: string }) {
  const { isAllowed, reason } = decide(
    { tool, isSandbox: isSandboxTool(tool, server), ...(server ? { server } : {}) },
    named,
  );
  return `${isAllowed}: ${reason}`;
}

describe("the gate's first decision", () => {
  test("allows the sandbox of the query", () => {
    expect(decided(run, { name: "sandboxed_code", source: "sdk" })).toBe("true: the sandbox");
  });

  test.each([
    ["a configured server of the same name", { name: "sandboxed_code", source: "project" }],
    ["a server of an unknown source", { name: "sandboxed_code", source: "" }],
    ["another SDK server whose name is written alike", { name: "sandboxed code", source: "sdk" }],
    ["a plugin", { name: "sandboxed_code", source: "plugin" }],
    ["no server at all", undefined],
  ])("denies the sandbox's name if it comes from %s, even if the name is allowed", (_what, server) => {
    expect(decided(run, server)).toBe("false: a server that the host program did not pass");
  });

  test("allows built-in tools that are named, and no others", () => {
    expect(decided("Read")).toBe("true: named by the host program");
    for (const tool of ["Write", "read", "Read ", "Read(*)", "", "constructor"]) {
      expect(decided(tool)).toBe("false: not named by the host program");
    }
  });

  test("allows a named tool only from servers that the host program passed", () => {
    for (const source of ["sdk", "dynamic"]) {
      expect(decided("mcp__office__stamp", { name: "office", source })).toBe("true: named by the host program");
    }
    for (const source of ["project", "local", "user", "plugin", "agent", "SDK"]) {
      expect(decided("mcp__office__stamp", { name: "office", source })).toMatch(/^false: a server/);
    }
    expect(decided("mcp__office__stamp")).toMatch(/^false: a server/);
  });
});
