import { createHash } from "node:crypto";

/** Names that code in a cell has for other things. The attack: the server `llm` with a tool `query`. */
const reserved: ReadonlySet<string> = new Set([
  ...["llm_query", "llm_query_batched", "rlm_query", "rlm_query_batched", "show_vars", "mcp_tools", "codecell_host"],
]);
const maxLength = 64;

/** A tool of a server, by its names. */
export interface NamedTool {
  readonly server: string;
  readonly tool: string;
}

/**
 * A Python name for each tool: `docs_search`. If two tools would have the same name, both get a suffix made of their own names.
 * The attack: a server whose tool takes the name of another server's, and gets the arguments that were meant for it.
 */
export function functionNames<Tool extends NamedTool>(tools: readonly Tool[]): Map<string, Tool> {
  const plain = countNames(tools.map(plainName));
  const named = tools.map((tool) => {
    const name = plainName(tool);
    const isTaken = (plain.get(name) ?? 0) > 1 || reserved.has(name.toLowerCase()) || looksSuffixed.test(name);
    return [isTaken || name.length > maxLength ? suffixed(name, tool) : name, tool] as const;
  });
  // whoever finds a name with the same digest gets nothing, and neither does the other tool
  const final = countNames(named.map(([name]) => name));
  return new Map(named.filter(([name]) => final.get(name) === 1));
}

/** Letters, digits and _ only; no leading _, because `__import__` and its like are Python's own. */
function plainName({ server, tool }: NamedTool): string {
  const name = `${server}_${tool}`.replace(/[^A-Za-z0-9_]/g, "_").replace(/^_+/, "");
  return /^[A-Za-z]/.test(name) ? name : `tool_${name}`;
}

const looksSuffixed = /_[0-9a-f]{8}$/;

function suffixed(name: string, { server, tool }: NamedTool): string {
  const digest = createHash("sha256").update(`${server}/${tool}`).digest("hex").slice(0, 8);
  return `${name.slice(0, maxLength - 9)}_${digest}`;
}

function countNames(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
