import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { CodecellError } from "../../../lib/errors.ts";
import { loadPolicy } from "../../../policy/file/load-policy.ts";
import type { Command, CommandContext } from "../command.ts";
import { notesText } from "../format/notes-text.ts";
import { parseToolset } from "../serve/mcp-options.ts";
import { claudeCode } from "../setup/claude-code.ts";
import type { McpEntry } from "../setup/mcp-json.ts";
import { setUpProject } from "../setup/setup-project.ts";
import { SetupReport } from "../setup/setup-report.ts";
import { removeSrtSettings, wrapPlaces, writeSrtSettings } from "../setup/srt-settings-file.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import type { Terminal } from "../shell/terminal.ts";

const options = {
  scope: { type: "string", value: "local|project|user", help: "Whom it is for. Default: local, you in this project." },
  policy: { type: "string", value: "FILE", help: "Pin the policy that the server uses." },
  tools: { type: "string", value: "all|interpreter|rlm", help: "Which tools to offer. Default: all." },
  wrap: { type: "string", value: "srt", help: "Start the server itself inside @anthropic-ai/sandbox-runtime." },
  here: { type: "boolean", help: "Start this installation instead of `npx -y codecell`." },
  print: { type: "boolean", help: "Show what would be changed, and change nothing." },
  uninstall: { type: "boolean", help: "Take it away again." },
  json: { type: "boolean", help: "Print what was done as one JSON object." },
  ...commonOptions,
} as const;

export const setupClaudeCodeCommand: Command = {
  name: "setup claude-code",
  summary: "Add the MCP server to Claude Code",
  usage: "codecell setup claude-code [--scope local|project|user] [--wrap srt] [--print] [--uninstall] [--json]",
  options,
  notes: [
    "--scope project writes .mcp.json in the current directory; the other scopes call `claude mcp`, or print the command where Claude Code is not installed. Doing it twice changes nothing.",
    "--wrap srt starts this installation, sees nothing of the environment, and writes srt's settings into the state directory; code runs in the wasm runner then, because no other sandbox starts inside srt. After a change of the policy, run it again.",
  ],
  examples: [
    ["codecell setup claude-code", "for you, in this project"],
    ["codecell setup claude-code --scope project --print", "what everybody who works here would get"],
    ["codecell setup claude-code --scope user --uninstall", "take it away again"],
    ["codecell setup claude-code --print --json", "what would be done, for programs"],
    ["codecell setup claude-code --wrap srt --print", "the settings and the command of a wrapped server"],
  ],
  run: runSetup,
};

async function runSetup(argv: readonly string[], context: CommandContext): Promise<number> {
  const { terminal } = context;
  const { values } = parseArguments("setup claude-code", argv, options, 0);
  const scope = parseScope(values.scope);
  const wrap = parseWrap(values.wrap, scope);
  const report = new SetupReport(terminal, values.json ?? false);
  return report.end(await setUp(scope, wrap, values, context, report));
}

async function setUp(
  scope: Scope,
  wrap: "srt" | undefined,
  values: SetupFlags,
  context: CommandContext,
  report: SetupReport,
): Promise<number> {
  const { terminal } = context;
  const { print = false } = values;
  if (values.uninstall) return takeAway(scope, { print, report }, terminal);
  if (wrap !== undefined && scope !== "project") return setUpWrapped(scope, values, context, report);
  // The server would start, and its every tool would fail.
  if (values.policy !== undefined) await loadPolicy(resolve(terminal.cwd, values.policy));
  const entry = serverEntry(values, terminal.cwd);
  if (scope === "project") return setUpProject(terminal, entry, { print, report });
  return claudeCode(terminal, scope, entry, { print, report });
}

type Scope = "local" | "project" | "user";

interface SetupFlags {
  readonly policy?: string;
  readonly tools?: string;
  readonly here?: boolean;
  readonly print?: boolean;
  readonly uninstall?: boolean;
}

async function setUpWrapped(
  scope: "local" | "user",
  flags: SetupFlags,
  context: CommandContext,
  report: SetupReport,
): Promise<number> {
  const { planSrtWrap } = await import("../setup/srt-wrap.ts");
  const args = { launcher: [process.execPath, launcher], mcp: toolsArguments(flags), policy: flags.policy };
  const wrap = await planSrtWrap(scope, args, context);
  const print = flags.print === true;
  const content = `${JSON.stringify(wrap.settings, undefined, 2)}\n`;
  if (print) report.tell({ step: "would write", file: wrap.settingsFile, content });
  else if (await writeSrtSettings(wrap, wrap.settings)) {
    report.tell({ step: "wrote", file: wrap.settingsFile, content });
  } else report.tell({ step: "unchanged", why: `${wrap.settingsFile} is there already` });
  context.terminal.stderr.write(notesText(wrap.notes));
  return claudeCode(context.terminal, scope, wrap.entry, { print, report });
}

async function takeAway(
  scope: Scope,
  { print, report }: { print: boolean; report: SetupReport },
  terminal: Terminal,
): Promise<number> {
  const code =
    scope === "project"
      ? await setUpProject(terminal, undefined, { print, report })
      : await claudeCode(terminal, scope, undefined, { print, report });
  const places = wrapPlaces(scope, terminal);
  if (print) {
    if (existsSync(places.settingsFile)) report.tell({ step: "would remove", file: places.settingsFile });
  } else if (await removeSrtSettings(places)) {
    const advice = `the server's sessions stay in ${places.stateHome}`;
    report.tell({ step: "removed", file: places.settingsFile, advice });
  }
  return code;
}

const launcher = fileURLToPath(new URL("../../../../bin/codecell.js", import.meta.url));

function serverEntry(flags: SetupFlags, cwd: string): McpEntry {
  const [command, ...before] = flags.here ? [process.execPath, launcher] : ["npx", "-y", "codecell"];
  const policy = flags.policy === undefined ? [] : ["--policy", resolve(cwd, flags.policy)];
  return { command: command ?? "npx", args: [...before, "mcp", ...toolsArguments(flags), ...policy] };
}

function toolsArguments({ tools }: SetupFlags): string[] {
  return tools === undefined ? [] : ["--tools", parseToolset(tools)];
}

function parseScope(text = "local"): Scope {
  const scope = (["local", "project", "user"] as const).find((one) => one === text);
  if (scope !== undefined) return scope;
  throw new CodecellError("usage", `there is no scope ${JSON.stringify(text)}`, { hint: "local, project or user" });
}

function parseWrap(text: string | undefined, scope: Scope): "srt" | undefined {
  if (text === undefined) return undefined;
  if (text !== "srt") {
    throw new CodecellError("usage", `there is no wrap ${JSON.stringify(text)}`, { hint: "--wrap srt" });
  }
  if (scope !== "project") return text;
  throw new CodecellError("usage", "a wrap names paths of this machine, and .mcp.json is for everybody", {
    hint: "--scope local or --scope user",
  });
}
