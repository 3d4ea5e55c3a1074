import type { Command } from "../command.ts";
import { mcpOptions } from "../serve/mcp-options.ts";

export const mcpCommand: Command = {
  name: "mcp",
  summary: "Serve sessions to an MCP client",
  usage: "codecell mcp [--tools all|interpreter|rlm] [--structured] [--http] [options]",
  options: mcpOptions,
  notes: [
    "The server uses standard input and output, unless --http is given. It starts no sandbox until the first tool call. If no runner is available, the answer to that call says how to fix it.",
    "Without a policy file the strictest policy applies, except that rlm_load may read files below the project directory ($CLAUDE_PROJECT_DIR, else the current directory).",
    "Answers are text for models. --structured adds structured content and output schemas for programs.",
    "With --http, SIGHUP reloads the policy, as in `codecell serve`.",
    "When the client disconnects, every session is closed. Sessions are saved first if the policy has session.persist.",
  ],
  examples: [
    ["codecell setup claude-code", "add it to Claude Code, with the paths of this installation"],
    ["codecell mcp --tools rlm --policy ./sandbox.policy.yaml", "only the rlm tools, with a policy"],
    ["codecell mcp --http --port 7411", "over HTTP on this machine; prints a token"],
  ],
  async run(argv, { terminal, runners }) {
    const { serveMcp } = await import("../serve/mcp-serve.ts"); // loaded here so that other commands start faster
    return serveMcp(argv, { terminal, runners: async () => runners });
  },
};
