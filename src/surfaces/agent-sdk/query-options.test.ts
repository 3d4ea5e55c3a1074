import type { Options } from "@anthropic-ai/claude-agent-sdk";
import { describe, expect, test } from "vitest";
import { sandboxGate } from "./gate.ts";
import { checkOptions, checkServers, type SandboxParts, sandboxedOptions } from "./query-options.ts";

const gate = sandboxGate();
const canary = { hooks: [async () => ({})] };
const server = { type: "sdk", name: "sandboxed_code", instance: {} } as const;

function merged(options: Options, allowedHostTools: string[] = [], env: NodeJS.ProcessEnv = {}): Options {
  const parts: SandboxParts = { server, gate, canary, allowedHostTools };
  return sandboxedOptions(options, parts, env);
}

describe("the options of a sandboxed query", () => {
  test("offer nothing but the sandbox, read no settings, and route Bash into the sandbox", () => {
    expect(merged({})).toMatchObject({
      ...{ tools: [], settingSources: [], strictMcpConfig: true, mcpServers: { sandboxed_code: server } },
      disallowedTools: ["Bash", "PowerShell", "Monitor"],
      toolAliases: { Bash: "mcp__sandboxed_code__run" },
    });
  });

  test("keep the caller's hooks and append the gate", () => {
    const own = { hooks: [async () => ({})] };
    const { hooks } = merged({ hooks: { PreToolUse: [own], UserPromptSubmit: [own] } });
    expect(hooks).toEqual({ PreToolUse: [own, gate], UserPromptSubmit: [own, canary] });
  });

  test("offer the named built-in tools, also where the caller asks for all of them", () => {
    const named = ["Read", "mcp__office__stamp"];
    expect(merged({}, named).tools).toEqual(["Read"]);
    expect(merged({ tools: { type: "preset", preset: "claude_code" } }, named).tools).toEqual(["Read"]);
    expect(merged({ tools: ["Bash"] }, named).tools).toEqual([]);
  });

  test("approve named tools only if nobody can be asked", () => {
    const named = ["Write"];
    expect(merged({ allowedTools: ["Read"] }, named).allowedTools).toEqual(["Read", "Write"]);
    expect(merged({ canUseTool: async () => null }, named).allowedTools).toEqual([]);
    expect(merged({ permissionPromptToolName: "mcp__a__b" }, named).allowedTools).toEqual([]);
  });

  test("take bare mode, which skips hooks, out of the environment and outrank it in settings", () => {
    expect(merged({}, [], { CLAUDE_CODE_SIMPLE: "1", PATH: "/bin" }).env).toEqual({ PATH: "/bin" });
    expect(merged({ env: { CLAUDE_CODE_SIMPLE: "1", A: "b" } }).env).toEqual({ A: "b" });
    expect(merged({ env: { A: "b" } }, [], { CLAUDE_CODE_SIMPLE: "1" }).env).toEqual({ A: "b" });
    expect(merged({ settings: { env: { CLAUDE_CODE_SIMPLE: "1", A: "b" } } }).settings).toEqual({
      env: { CLAUDE_CODE_SIMPLE: "0", A: "b" },
    });
  });

  test.each(["bare", "--bare"])("with %s as an argument are refused", (name) => {
    const options = { extraArgs: { [name]: null } };
    expect(() => checkOptions(options, [])).toThrow(expect.objectContaining({ code: "usage" }));
  });

  test("with tools that the gate would deny are refused, with the fix", () => {
    expect(() => checkOptions({ tools: ["Read", "Edit"] }, ["Read"])).toThrow(
      expect.objectContaining({ message: "tools: the gate would deny Edit", hint: expect.stringContaining('"Edit"') }),
    );
    expect(() => checkOptions({ tools: ["Read", "Bash"] }, ["Read"])).not.toThrow(); // Bash runs in the sandbox
  });

  test.each(["sandboxed_code", "sandboxed code", "sandboxed.code"])("with a server named %s are refused", (name) => {
    expect(() => checkServers({ [name]: {} })).toThrow(/belongs to the sandbox/);
  });
});
