import type { HookInput } from "@anthropic-ai/claude-agent-sdk";
import { describe, expect, test } from "vitest";
import { type SandboxGateOptions, sandboxGate, type ToolDecision } from "./gate.ts";

const sandboxCall = {
  ...{ hook_event_name: "PreToolUse", tool_name: "mcp__sandboxed_code__run", tool_input: { code: "1" } },
  ...{ tool_use_id: "toolu_1", mcp_server: { name: "sandboxed_code", source: "sdk" } },
} as const;

async function ask(input: object, options?: SandboxGateOptions, signal = new AbortController().signal) {
  const [hook] = sandboxGate(options).hooks;
  const output = await hook?.(input as HookInput, undefined, { signal });
  return output?.hookSpecificOutput?.permissionDecision ?? "no decision";
}

describe("the gate as a hook", () => {
  test("blocks the call if it fails, and has a time limit above that of onToolRequest", () => {
    expect(sandboxGate({ toolRequestTimeoutMs: 5_000 })).toMatchObject({ onFailure: "block", timeout: 35 });
    expect(sandboxGate()).not.toHaveProperty("matcher"); // it sees every tool
  });

  test("approves the sandbox, and leaves named tools to the SDK's permissions", async () => {
    expect(await ask(sandboxCall)).toBe("allow");
    const read = { ...sandboxCall, tool_name: "Read", mcp_server: undefined };
    expect(await ask(read, { allowedHostTools: ["Read"] })).toBe("no decision");
    expect(await ask(read)).toBe("deny");
  });

  test.each([
    {},
    { hook_event_name: "PostToolUse", tool_name: "mcp__sandboxed_code__run" },
    { ...sandboxCall, tool_name: 7 },
    { ...sandboxCall, tool_use_id: undefined },
    { ...sandboxCall, mcp_server: { name: ["sandboxed_code"], source: "sdk" } },
    { ...sandboxCall, mcp_server: "sdk" },
  ])("denies input that it does not understand: %j", async (input) => {
    expect(await ask(input)).toBe("deny");
  });

  test("does not ask the host program about what it denies anyway", async () => {
    const asked: string[] = [];
    const onToolRequest: SandboxGateOptions["onToolRequest"] = ({ tool }) => {
      asked.push(tool);
      return { behavior: "allow" };
    };
    expect(await ask({ ...sandboxCall, tool_name: "Bash", mcp_server: undefined }, { onToolRequest })).toBe("deny");
    expect(await ask(sandboxCall, { onToolRequest })).toBe("allow");
    expect(asked).toEqual(["mcp__sandboxed_code__run"]);
  });

  test("denies when the query is aborted while the host program decides", async () => {
    const abort = new AbortController();
    const onToolRequest = () => {
      abort.abort(new Error("over"));
      return new Promise<never>(() => {});
    };
    expect(await ask(sandboxCall, { onToolRequest }, abort.signal)).toBe("deny");
  });

  test("tells every decision before it answers, with the sub-agent that asked", async () => {
    const decisions: ToolDecision[] = [];
    await ask({ ...sandboxCall, agent_id: "a1" }, { onDecision: (one) => void decisions.push(one) });
    expect(decisions).toMatchObject([{ isAllowed: true, reason: "the sandbox", request: { agentId: "a1" } }]);
  });

  test.each(["Bash", "PowerShell", "Monitor", "mcp__sandboxed_code__run"])("refuses to have %s named", (name) => {
    expect(() => sandboxGate({ allowedHostTools: [name] })).toThrow(expect.objectContaining({ code: "usage" }));
  });

  test("explains options of the wrong kind", () => {
    expect(() => sandboxGate({ allowedHostTools: "Read" as never })).toThrow("expected a list of names");
    for (const wrong of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, "1s" as never]) {
      expect(() => sandboxGate({ toolRequestTimeoutMs: wrong })).toThrow("is not a time in milliseconds");
    }
  });
});
