import { CodecellError } from "../../../lib/errors.ts";

/** How a client starts an MCP server, as `.mcp.json` has it. */
export interface McpEntry {
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * Pure: adds this entry to the text of a `.mcp.json`, or removes it. Everything else stays, including the indentation.
 * Returns the same text if there is nothing to change.
 */
export function editMcpJson(text: string | undefined, name: string, entry: McpEntry | undefined): string | undefined {
  const root = text === undefined || text.trim() === "" ? {} : parse(text);
  const servers = root.mcpServers ?? {};
  if (!isObject(servers)) throw damaged("mcpServers is not an object");
  if (entry === undefined && !Object.hasOwn(servers, name)) return text;
  if (entry !== undefined && JSON.stringify(servers[name]) === JSON.stringify(entry)) return text;
  const { [name]: _, ...others } = servers;
  const mcpServers = entry === undefined ? others : { ...servers, [name]: entry };
  return `${JSON.stringify({ ...root, mcpServers }, undefined, indentationOf(text))}\n`;
}

function parse(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw damaged("it is not JSON", error);
  }
  if (isObject(value)) return value;
  throw damaged("it is not an object");
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function indentationOf(text: string | undefined): string {
  return /^[\t ]+(?=")/m.exec(text ?? "")?.[0] ?? "  ";
}

function damaged(why: string, cause?: unknown): CodecellError {
  return new CodecellError("usage", `.mcp.json was not changed: ${why}`, { cause, hint: "fix the file first" });
}
