import type { Command } from "../command.ts";
import { mcpOptions } from "../serve/mcp-options.ts";

export const mcpCommand: Command = {
  name: "mcp",
  summary: "Serve sessions to an MCP client",
  usage: "codecell mcp [--tools all|interpreter|rlm] [--http] [options]",
  options: mcpOptions,
  notes: [
    "Over standard input and output unless --http is given. Starting it opens nothing: the isolation is chosen by the first tool call, whose answer says what is missing.",
    "Without a policy file the policy is the tightest one, but rlm_load may read files below the project's directory (CLAUDE_PROJECT_DIR, else the current one).",
    "rlm_sub_agent is offered where a model is configured: --model, CODECELL_MODEL or ANTHROPIC_API_KEY.",
    "With --http, SIGHUP has the policy read again, as `codecell serve` does.",
    "When the client goes away, every session is saved if the policy makes it persistent, and ended.",
  ],
  examples: [
    ["claude mcp add codecell -- npx -y codecell mcp", "offer it to Claude Code"],
    ["codecell mcp --tools rlm --policy ./sandbox.policy.yaml", "the rlm tools, under a policy"],
    ["codecell mcp --http --port 7411", "over HTTP on this machine, with a token"],
  ],
  async run(argv, { terminal, runners }) {
    const { serveMcp } = await import("../serve/mcp-serve.ts"); // no other command pays for the protocol
    return serveMcp(argv, { terminal, runners: async () => runners });
  },
};
