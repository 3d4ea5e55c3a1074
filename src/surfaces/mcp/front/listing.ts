import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { packageRoot } from "../../../lib/files/package-root.ts";
import type { Tool } from "../../../service/tools/tool.ts";
import type { ToolsetName } from "../../../service/tools/toolset-name.ts";

/** What the MCP SDK answers a client that only lists the tools. It is made by the build, without a policy. */
export interface McpListing {
  /** the versions of the protocol that a client may name in `initialize` */
  readonly versions: readonly string[];
  /** the result of `initialize` */
  readonly initialize: Readonly<Record<string, unknown>>;
  readonly tools: readonly ListedTool[];
}

/** A tool as the SDK lists it, and what its description and annotations depend on. */
export interface ListedTool extends Pick<Tool, "effect" | "isIdempotent"> {
  readonly listed: Readonly<Record<string, unknown>> & { readonly description: string };
  /** whether the description ends with the limits of the policy */
  readonly hasLimits: boolean;
}

export interface ListingOptions {
  readonly tools: ToolsetName;
  readonly structured: boolean;
  readonly hasProcesses: boolean;
}

/** The file of a listing, below `dist/bundled`. */
export function listingFile({ tools, structured, hasProcesses }: ListingOptions): string {
  return join("mcp-listings", `${tools}${structured ? "-structured" : ""}${hasProcesses ? "" : "-no-processes"}.json`);
}

/** Undefined: this is not a build, and the SDK has to answer. */
export async function readListing(options: ListingOptions): Promise<McpListing | undefined> {
  try {
    const file = join(packageRoot(), "dist", "bundled", listingFile(options));
    return JSON.parse(await readFile(file, "utf8")) as McpListing;
  } catch {
    return undefined;
  }
}
