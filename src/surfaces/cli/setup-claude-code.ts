import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { CodecellError } from "../../lib/errors.ts";
import { commonOptions, parseArguments } from "./arguments.ts";
import { claudeCode } from "./claude-code.ts";
import type { Command, CommandContext } from "./command.ts";
import type { McpEntry } from "./mcp-json.ts";
import { parseToolset } from "./mcp-options.ts";
import { setUpProject } from "./setup-project.ts";

const options = {
  scope: { type: "string", value: "local|project|user", help: "Whom it is for. Default: local, you in this project." },
  policy: { type: "string", value: "FILE", help: "Pin the policy that the server uses." },
  tools: { type: "string", value: "all|interpreter|rlm", help: "Which tools to offer. Default: all." },
  here: { type: "boolean", help: "Start this installation instead of `npx -y codecell`." },
  print: { type: "boolean", help: "Show what would be changed, and change nothing." },
  uninstall: { type: "boolean", help: "Take it away again." },
  ...commonOptions,
} as const;

export const setupClaudeCodeCommand: Command = {
  name: "setup claude-code",
  summary: "Add the MCP server to Claude Code",
  usage: "codecell setup claude-code [--scope local|project|user] [--print] [--uninstall]",
  options,
  notes: [
    "--scope project writes .mcp.json in the current directory; the other scopes call `claude mcp`, or print the command where Claude Code is not installed. Doing it twice changes nothing.",
  ],
  examples: [
    ["codecell setup claude-code", "for you, in this project"],
    ["codecell setup claude-code --scope project --print", "what everybody who works here would get"],
    ["codecell setup claude-code --scope user --uninstall", "take it away again"],
  ],
  run: runSetup,
};

async function runSetup(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values } = parseArguments("setup claude-code", argv, options, 0);
  const scope = parseScope(values.scope);
  const entry = serverEntry(values, terminal.cwd);
  const { print = false, uninstall = false } = values;
  if (scope === "project") return setUpProject(terminal, uninstall ? undefined : entry, { print });
  return claudeCode(terminal, scope, uninstall ? undefined : entry, { print });
}

function serverEntry(flags: { policy?: string; tools?: string; here?: boolean }, cwd: string): McpEntry {
  const launcher = fileURLToPath(new URL("../../../bin/codecell.js", import.meta.url));
  const [command, ...before] = flags.here ? [process.execPath, launcher] : ["npx", "-y", "codecell"];
  const policy = flags.policy === undefined ? [] : ["--policy", resolve(cwd, flags.policy)];
  const tools = flags.tools === undefined ? [] : ["--tools", parseToolset(flags.tools)];
  return { command: command ?? "npx", args: [...before, "mcp", ...tools, ...policy] };
}

function parseScope(text = "local"): "local" | "project" | "user" {
  const scope = (["local", "project", "user"] as const).find((one) => one === text);
  if (scope !== undefined) return scope;
  throw new CodecellError("usage", `there is no scope ${JSON.stringify(text)}`, { hint: "local, project or user" });
}
