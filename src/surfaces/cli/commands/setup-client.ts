import { CodecellError } from "../../../lib/errors.ts";
import { userHome } from "../../../lib/files/user-home.ts";
import { nearest } from "../../../policy/file/suggest.ts";
import type { Command, CommandContext } from "../command.ts";
import { changeConfig } from "../setup/change-config.ts";
import { type ClientScope, claudeDesktop, codex, cursor, type McpClient, vscode } from "../setup/mcp-clients.ts";
import { serverEntry } from "../setup/server-entry.ts";
import { sharingAdvice } from "../setup/setup-project.ts";
import { SetupReport } from "../setup/setup-report.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import type { Terminal } from "../shell/terminal.ts";

/** The command that adds the server to a client which reads its servers from a file. */
function setupCommand(client: McpClient): Command {
  const { name, title, scopes } = client;
  const options = optionsFor(client);
  const command = `setup ${name}`;
  const scope = scopes.length === 1 ? "" : ` [--scope ${scopes.join("|")}]`;
  return {
    name: command,
    summary: `Add the MCP server to ${title}`,
    usage: `codecell ${command}${scope} [--policy FILE] [--print] [--remove] [--json]`,
    options,
    notes: [
      placesNote(client),
      "Only the entry of codecell changes; other servers, comments and formatting stay as they are. A file that cannot be read safely is not changed, and the error says why. It is safe to run this twice.",
      "The server starts with the Node and the codecell that run this command" +
        (scopes.includes("project")
          ? ". In a project's file, which others share, it is `codecell` if that is this installation on your PATH."
          : "."),
    ],
    examples: [
      [`codecell ${command}`, scopes[0] === "project" ? "in this project" : "for you"],
      ...(scopes[1] === undefined
        ? []
        : ([
            [`codecell ${command} --scope ${scopes[1]}`, scopes[1] === "project" ? "in this project" : "for you"],
          ] as const)),
      [`codecell ${command} --print`, "preview the file, without changing it"],
      [`codecell ${command} --remove`, "remove the server"],
      [`codecell ${command} --json`, "the steps, for programs"],
    ],
    run: (argv, context) => runSetup(client, argv, context),
  };
}

function optionsFor({ scopes }: McpClient) {
  return {
    scope: {
      type: "string",
      value: scopes.join("|"),
      help:
        scopes.length === 1
          ? `Who gets the server: ${scopes[0]} (you).`
          : `Who gets the server: this project, or you in every project. Default: ${scopes[0]}.`,
    },
    policy: { type: "string", value: "FILE", help: "Policy file that the server uses." },
    tools: { type: "string", value: "all|interpreter|rlm", help: "Which tools to offer. Default: all." },
    print: { type: "boolean", help: "Show what would change, without changing it." },
    "dry-run": { type: "boolean", help: "The same as --print." },
    remove: { type: "boolean", help: "Remove the server." },
    uninstall: { type: "boolean", help: "The same as --remove." },
    json: { type: "boolean", help: "Print the steps as one JSON object." },
    ...commonOptions,
  } as const;
}

async function runSetup(client: McpClient, argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values } = parseArguments(`setup ${client.name}`, argv, optionsFor(client), 0);
  const scope = parseScope(client, values.scope);
  const isShared = scope === "project";
  const isRemoved = values.remove === true || values.uninstall === true;
  const entry = isRemoved ? undefined : await serverEntry(values, terminal, { isShared });
  const { env, cwd } = terminal;
  const file = client.file(scope, { platform: process.platform, env, cwd, home: homeOf(env) });
  const report = new SetupReport(terminal, values.json ?? false);
  const advice = [client.advice[scope], ...(entry && isShared ? [sharingAdvice(entry.command)] : [])].join("\n");
  const change = {
    file,
    edit: (text: string | undefined) => client.edit(text, entry, file),
    unchanged: entry ? "already has the server" : "does not have the server",
    advice: entry && advice,
    shows: "change" as const,
    hide: client.hide,
    mode: isShared ? 0o644 : 0o600, // a user's own file may hold keys of other servers
  };
  const print = values.print === true || values["dry-run"] === true;
  return report.end(await changeConfig(change, { print, report }));
}

function homeOf(env: Terminal["env"]): string {
  const home = userHome(env);
  if (home !== undefined) return home;
  throw new CodecellError("usage", "this user has no home directory", { hint: "set HOME to an absolute path" });
}

function parseScope({ name, scopes }: McpClient, text: string | undefined): ClientScope {
  const [standard = "user"] = scopes;
  const scope = scopes.find((one) => one === (text ?? standard));
  if (scope !== undefined) return scope;
  const near = nearest(text ?? "", scopes);
  throw new CodecellError("usage", `\`codecell setup ${name}\` has no scope ${JSON.stringify(text)}`, {
    hint: near === undefined ? `use one of: ${scopes.join(", ")}` : `did you mean ${near}?`,
  });
}

function placesNote(client: McpClient): string {
  const places = (platform: NodeJS.Platform) => ({ platform, env: {}, home: "~", cwd: "." });
  const shown = (scope: ClientScope, platform: NodeJS.Platform) => client.file(scope, places(platform));
  const own = [...new Set([shown("user", "linux"), shown("user", "darwin")])];
  const files = client.scopes.map((scope) => {
    return scope === "project" ? `project: ${shown("project", "linux")}` : `user: ${own.join(", on macOS ")}`;
  });
  return `The file that is changed: ${files.join("; ")}.`;
}

export const setupCursorCommand = setupCommand(cursor);
export const setupVscodeCommand = setupCommand(vscode);
export const setupClaudeDesktopCommand = setupCommand(claudeDesktop);
export const setupCodexCommand = setupCommand(codex);
