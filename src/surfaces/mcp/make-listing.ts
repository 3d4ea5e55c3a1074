import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/server";
import { LazySandbox } from "../../service/lazy-sandbox.ts";
import { limitsText } from "../../service/tools/policy-facts.ts";
import type { Tool } from "../../service/tools/tool.ts";
import { toolsOf } from "../../service/tools/toolset.ts";
import type { ListedTool, ListingOptions, McpListing } from "./front/listing.ts";
import { serveOverStdio } from "./stdio.ts";

/** Asks the MCP SDK. The build calls this, so that a server need not load the SDK for a client that only lists the tools. */
export async function makeListing(options: ListingOptions): Promise<McpListing> {
  const { tools, structured, hasProcesses } = options;
  const sandbox = new LazySandbox({ projectDir: "/", open: () => Promise.reject(new Error("a listing runs nothing")) });
  const [input, output] = [new PassThrough(), new PassThrough()];
  const replies = createInterface(output)[Symbol.asyncIterator]();
  const ask = async (method: string, params: object) => {
    input.write(`${JSON.stringify({ jsonrpc: "2.0", id: 0, method, params })}\n`);
    return JSON.parse((await replies.next()).value).result;
  };
  await using _server = serveOverStdio(sandbox, { tools, structured, hasProcesses }, { input, output });
  const [protocolVersion] = SUPPORTED_PROTOCOL_VERSIONS;
  const clientInfo = { name: "build", version: "1" };
  const initialize = await ask("initialize", { protocolVersion, capabilities: {}, clientInfo });
  const { tools: listed } = await ask("tools/list", {});
  const defined = toolsOf(tools, { hasModel: false, hasProcesses });
  return {
    versions: SUPPORTED_PROTOCOL_VERSIONS,
    initialize,
    tools: listed.map((one: ListedTool["listed"], index: number) => listedTool(one, defined[index])),
  };
}

function listedTool(listed: ListedTool["listed"], tool: Tool | undefined): ListedTool {
  const { name, effect, isIdempotent, limits } = tool ?? {};
  if (effect === undefined || name !== listed.name) throw new Error(`the SDK lists ${listed.name} in another place`);
  if (limits !== undefined && limits !== limitsText) throw new Error(`${name} has limits that a listing cannot hold`);
  return { listed, effect, ...(isIdempotent === undefined ? {} : { isIdempotent }), hasLimits: limits !== undefined };
}
