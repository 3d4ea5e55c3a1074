import { z } from "zod";
import { once } from "../../lib/once.ts";
import { starCovers, starMatches } from "./star-glob.ts";

const expected = "expected a server and a tool such as github/search_issues or docs/*";

/** A tool of another MCP server, or a glob of such tools, as `tools.allow` names it. */
export const toolGlob = once(() =>
  z
    .string(expected)
    .max(256, "at most 256 characters")
    .regex(/^[A-Za-z0-9_.*-]{1,64}\/[A-Za-z0-9_.:*/-]{1,128}$/, expected),
);

/** A tool as its server lists it. */
export interface ListedTool {
  /** the server's name in the operator's configuration */
  readonly server: string;
  readonly tool: string;
  /** whether the server says that the tool changes nothing (`annotations.readOnlyHint`) */
  readonly isReadOnly: boolean;
}

/**
 * Whether `tools.allow` permits a tool. A glob permits only read-only tools. A tool that may change something has to be
 * named exactly: the attack is a server that adds such a tool later, under a name that a glob matches.
 */
export function allowsTool(globs: readonly string[], { server, tool, isReadOnly }: ListedTool): boolean {
  return globs.some((glob) => {
    if (!isGlob(glob)) return glob === `${server}/${tool}`;
    const [ofServer, ofTool] = parts(glob);
    return isReadOnly && starMatches(ofServer, server) && starMatches(ofTool, tool);
  });
}

/** Whether `wide` permits every tool that `narrow` permits. No glob covers an exact name, which permits more. */
export function toolGlobCovers(wide: string, narrow: string): boolean {
  if (!isGlob(narrow) || !isGlob(wide)) return wide === narrow;
  const [wideServer, wideTool] = parts(wide);
  const [server, tool] = parts(narrow);
  return starCovers(wideServer, server) && starCovers(wideTool, tool);
}

function isGlob(entry: string): boolean {
  return entry.includes("*");
}

function parts(glob: string): [server: string, tool: string] {
  const at = glob.indexOf("/");
  return [glob.slice(0, at), glob.slice(at + 1)];
}
