import { isAbsolute, join } from "node:path";
import type { Terminal } from "../shell/terminal.ts";
import { changeConfig } from "./change-config.ts";
import { hideJsonValues } from "./hide-values.ts";
import { editMcpJson, type McpEntry } from "./mcp-json.ts";
import type { SetupReport } from "./setup-report.ts";

/** Adds or removes the server's entry in the project's `.mcp.json`, and reports the change. */
export function setUpProject(
  { cwd }: Terminal,
  entry: McpEntry | undefined,
  how: { print: boolean; report: SetupReport },
): Promise<number> {
  const change = {
    file: join(cwd, ".mcp.json"),
    edit: (text: string | undefined) => editMcpJson(text, "codecell", entry),
    unchanged: entry ? "already has the server" : "does not have the server",
    advice: entry && adviceFor(entry),
    mode: 0o644,
    shows: "all" as const,
    hide: (text: string) => hideJsonValues(text, ["mcpServers", "codecell"]),
  };
  return changeConfig(change, how);
}

function adviceFor({ command }: McpEntry): string {
  return `Claude Code will ask once whether to trust the server${isAbsolute(command) ? "\n" : "; "}${sharingAdvice(command)}`;
}

/** What others need who use a file with this command. */
export function sharingAdvice(command: string): string {
  if (!isAbsolute(command)) return "everyone who uses this file needs `codecell` on PATH";
  return "The file contains paths of this machine. To share it, run `npm install -g .` in codecell's directory and run this again";
}
