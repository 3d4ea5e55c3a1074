/** The MCP server of the sandbox, as the model sees it in the names of tools. */
export const serverName = "sandboxed_code";
/** The tool that runs code, as the model calls it. */
export const runToolName = `mcp__${serverName}__run`;

/** Built-in tools that run programs on the host. Nobody can allow them here: code runs in the sandbox. */
export const hostCodeTools: readonly string[] = ["Bash", "PowerShell", "Monitor"];

/** Whether tools of a server with this name could be mistaken for the sandbox: the SDK replaces other characters by `_`. */
export function isServerNameTaken(name: string): boolean {
  return name.replace(/[^a-zA-Z0-9_-]/g, "_") === serverName;
}

export function isMcpTool(name: string): boolean {
  return name.startsWith("mcp__");
}
