import { join } from "node:path";
import { hideJsonValues, hideTomlValues } from "./hide-values.ts";
import { editMcpJson, type McpEntry, type McpFileForm } from "./mcp-json.ts";
import { editMcpToml } from "./mcp-toml.ts";

export type ClientScope = "project" | "user";

/** Where a client's files are. */
export interface ClientPlaces {
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly cwd: string;
}

/** An MCP client that reads its servers from a file. */
export interface McpClient {
  /** as typed after `codecell setup` */
  readonly name: string;
  readonly title: string;
  /** the first one is the default */
  readonly scopes: readonly ClientScope[];
  file(scope: ClientScope, places: ClientPlaces): string;
  /** Pure: the text with the server, or without it. */
  edit(text: string | undefined, entry: McpEntry | undefined, shown: string): string | undefined;
  /** Pure: the text without values that may be keys of servers. */
  hide(text: string): string;
  /** what to do in the client afterwards */
  readonly advice: Readonly<Record<ClientScope, string>>;
}

/** Formats and places as the clients' documentation gives them in November 2026. */
export const cursor: McpClient = {
  name: "cursor",
  title: "Cursor",
  scopes: ["project", "user"],
  file: (scope, { cwd, home }) => join(scope === "project" ? cwd : home, ".cursor", "mcp.json"),
  edit: jsonEditor("mcpServers", true),
  hide: (text) => hideJsonValues(text, ["mcpServers", "codecell"]),
  advice: {
    project: "Cursor lists the server under Customize, MCPs; switch it on there",
    user: "Cursor lists the server under Customize, MCPs; switch it on there",
  },
};

export const vscode: McpClient = {
  name: "vscode",
  title: "VS Code",
  scopes: ["project", "user"],
  file: (scope, places) =>
    scope === "project" ? join(places.cwd, ".vscode", "mcp.json") : join(appData(places), "Code", "User", "mcp.json"),
  edit: (text, entry, shown) => jsonEditor("servers", true)(text, entry && { type: "stdio", ...entry }, shown),
  hide: (text) => hideJsonValues(text, ["servers", "codecell"]),
  advice: {
    project: "VS Code asks once whether to trust the server; `MCP: List Servers` in the command palette shows it",
    user: "VS Code asks once whether to trust the server; `MCP: List Servers` in the command palette shows it",
  },
};

export const claudeDesktop: McpClient = {
  name: "claude-desktop",
  title: "Claude Desktop",
  scopes: ["user"],
  file: (_scope, places) => join(appData(places), "Claude", "claude_desktop_config.json"),
  edit: jsonEditor("mcpServers", false),
  hide: (text) => hideJsonValues(text, ["mcpServers", "codecell"]),
  advice: { project: "", user: "Quit Claude Desktop and start it again: it reads the file when it starts" },
};

export const codex: McpClient = {
  name: "codex",
  title: "Codex",
  scopes: ["user", "project"],
  file: (scope, { cwd, home, env }) =>
    join(scope === "project" ? join(cwd, ".codex") : env.CODEX_HOME || join(home, ".codex"), "config.toml"),
  edit: (text, entry, shown) => editMcpToml(text, "codecell", entry, shown),
  hide: (text) => hideTomlValues(text, ["mcp_servers", "codecell"]),
  advice: {
    project:
      "Codex reads this file only in a project that you have told it to trust; `codex mcp list` shows the server",
    user: "`codex mcp list` shows the server",
  },
};

function jsonEditor(servers: McpFileForm["servers"], allowsComments: boolean): McpClient["edit"] {
  return (text, entry, shown) => editMcpJson(text, "codecell", entry, { shown, servers, allowsComments });
}

/** Where programs of this kind keep their settings on each system. */
function appData({ platform, env, home }: ClientPlaces): string {
  if (platform === "darwin") return join(home, "Library", "Application Support");
  if (platform === "win32") return env.APPDATA || join(home, "AppData", "Roaming");
  return env.XDG_CONFIG_HOME?.startsWith("/") ? env.XDG_CONFIG_HOME : join(home, ".config");
}
