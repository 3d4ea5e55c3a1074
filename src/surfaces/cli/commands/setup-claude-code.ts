import { existsSync } from "node:fs";
import { CodecellError } from "../../../lib/errors.ts";
import type { Command, CommandContext } from "../command.ts";
import { notesText } from "../format/text/notes-text.ts";
import { claudeCode } from "../setup/claude-code.ts";
import { ownCommand } from "../setup/own-command.ts";
import { serverEntry, toolsArguments } from "../setup/server-entry.ts";
import { setUpProject } from "../setup/setup-project.ts";
import { SetupReport } from "../setup/setup-report.ts";
import { removeSrtSettings, wrapPlaces, writeSrtSettings } from "../setup/srt-settings-file.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import type { Terminal } from "../shell/terminal.ts";

const options = {
  scope: {
    type: "string",
    value: "local|project|user",
    help: "Who gets the server. Default: local (you, in this project).",
  },
  policy: { type: "string", value: "FILE", help: "Policy file that the server uses." },
  tools: { type: "string", value: "all|interpreter|rlm", help: "Which tools to offer. Default: all." },
  wrap: { type: "string", value: "srt", help: "Run the server itself inside @anthropic-ai/sandbox-runtime." },
  print: { type: "boolean", help: "Show what would change, without changing it." },
  "dry-run": { type: "boolean", help: "The same as --print." },
  uninstall: { type: "boolean", help: "Remove the server." },
  remove: { type: "boolean", help: "The same as --uninstall." },
  json: { type: "boolean", help: "Print the steps as one JSON object." },
  ...commonOptions,
} as const;

export const setupClaudeCodeCommand: Command = {
  name: "setup claude-code",
  summary: "Add the MCP server to Claude Code",
  usage: "codecell setup claude-code [--scope local|project|user] [--wrap srt] [--print] [--uninstall] [--json]",
  options,
  notes: [
    "--scope project writes .mcp.json in the current directory. The other scopes call `claude mcp`; if Claude Code is not installed, they print the command. It is safe to run this twice.",
    "The server starts with the Node and the codecell that run this command. In .mcp.json, which others share, it is `codecell` if that is this installation on your PATH.",
    "--wrap srt starts the server with an empty environment and writes srt's settings to the state directory. Code runs in the wasm runner, because no other sandbox starts inside srt. Run it again after you change the policy.",
  ],
  examples: [
    ["codecell setup claude-code", "for you, in this project"],
    ["codecell setup claude-code --scope project --print", "preview what everyone in this project would get"],
    ["codecell setup claude-code --scope user --uninstall", "remove it"],
    ["codecell setup claude-code --print --json", "preview, for programs"],
    ["codecell setup claude-code --wrap srt --print", "preview the settings and command of a wrapped server"],
  ],
  run: runSetup,
};

async function runSetup(argv: readonly string[], context: CommandContext): Promise<number> {
  const { terminal } = context;
  const { values: flags } = parseArguments("setup claude-code", argv, options, 0);
  const print = flags.print === true || flags["dry-run"] === true;
  const values = { ...flags, print, uninstall: flags.uninstall === true || flags.remove === true };
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
  const entry = await serverEntry(values, terminal, { isShared: scope === "project" });
  if (scope === "project") return setUpProject(terminal, entry, { print, report });
  return claudeCode(terminal, scope, entry, { print, report });
}

type Scope = "local" | "project" | "user";

interface SetupFlags {
  readonly policy?: string;
  readonly tools?: string;
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
  const args = { launcher: ownCommand(), mcp: toolsArguments(flags), policy: flags.policy };
  const wrap = await planSrtWrap(scope, args, context);
  const print = flags.print === true;
  const content = `${JSON.stringify(wrap.settings, undefined, 2)}\n`;
  if (print) report.tell({ step: "would write", file: wrap.settingsFile, content });
  else if (await writeSrtSettings(wrap, wrap.settings)) {
    report.tell({ step: "wrote", file: wrap.settingsFile, content });
  } else report.tell({ step: "unchanged", why: `${wrap.settingsFile} is up to date` });
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
    const advice = `the server's sessions are kept in ${places.stateHome}`;
    report.tell({ step: "removed", file: places.settingsFile, advice });
  }
  return code;
}

function parseScope(text = "local"): Scope {
  const scope = (["local", "project", "user"] as const).find((one) => one === text);
  if (scope !== undefined) return scope;
  throw new CodecellError("usage", `unknown scope ${JSON.stringify(text)}`, {
    hint: "use one of: local, project, user",
  });
}

function parseWrap(text: string | undefined, scope: Scope): "srt" | undefined {
  if (text === undefined) return undefined;
  if (text !== "srt") {
    throw new CodecellError("usage", `unknown wrap ${JSON.stringify(text)}`, { hint: "use --wrap srt" });
  }
  if (scope !== "project") return text;
  throw new CodecellError(
    "usage",
    "--wrap cannot be combined with --scope project: it contains paths of this machine, and .mcp.json is shared",
    {
      hint: "use --scope local or --scope user",
    },
  );
}
