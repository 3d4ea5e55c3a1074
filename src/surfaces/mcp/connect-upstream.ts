import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { z } from "zod";
import { CodecellError } from "../../lib/errors.ts";
import type { UpstreamConfig } from "../../service/upstreams/server-config.ts";
import type { ConnectOptions, UpstreamClient, UpstreamTool } from "../../service/upstreams/upstream-client.ts";
import { codecellVersion } from "../../service/version.ts";
import { boundedFetch } from "./bounded-fetch.ts";
import { refuseFloods } from "./refuse-floods.ts";

/** A larger message closes the connection. */
const maxMessageBytes = 32 * 1024 * 1024;
const maxTools = 500;
const maxPages = 20;
const maxNameCharacters = 128;
/** The caller's signal ends a request; the SDK's own limit must not come first. */
const noTimeoutMs = 2 ** 31 - 1;
/** Standard input is closed first; a server that stays is killed. */
const killAfterMs = 1_000;

/** Set for servers that codecell starts: a codecell among them must not start servers itself. */
export const upstreamVariable = "CODECELL_UPSTREAM";

/** Lenient: one tool that a server describes wrongly must not hide all others. */
const listSchema = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });
const toolSchema = z.looseObject({
  name: z.string().min(1).max(maxNameCharacters),
  description: z.string().catch(""),
  inputSchema: z.unknown().optional(),
  annotations: z.looseObject({ readOnlyHint: z.unknown().optional() }).optional().catch(undefined),
});
/** Not checked against the tool's output schema: a pattern in one could keep this process busy for ever. */
const answerSchema = z.looseObject({
  content: z.array(z.unknown()).catch([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().catch(false),
});

/** Connects to another MCP server, as a client without any ability: it answers no sampling, elicitation or roots. */
export async function connectUpstream(config: UpstreamConfig, options: ConnectOptions): Promise<UpstreamClient> {
  const { signal, onClosed, onToolsChanged } = options;
  const client = new Client({ name: "codecell", version: codecellVersion() });
  const transport = transportTo(config);
  const close = () => closeClient(client, transport);
  client.setNotificationHandler("notifications/tools/list_changed", onToolsChanged);
  const stop = () => void close();
  signal.addEventListener("abort", stop, { once: true });
  try {
    await client.connect(transport, { timeout: noTimeoutMs, signal });
  } catch (error) {
    await close();
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
  client.onclose = onClosed;
  refuseFloods(transport, stop);
  const request = <Schema extends z.ZodType>(method: string, params: object, schema: Schema, ending: AbortSignal) =>
    client.request({ method, params: { ...params } }, schema, { signal: ending, timeout: noTimeoutMs });
  return {
    listTools: (ending) => listTools((params) => request("tools/list", params, listSchema, ending)),
    async callTool(name, args, ending) {
      return request("tools/call", { name, arguments: args }, answerSchema, ending);
    },
    [Symbol.asyncDispose]: close,
  };
}

async function listTools(page: (params: object) => Promise<z.output<typeof listSchema>>): Promise<UpstreamTool[]> {
  const tools = new Map<string, UpstreamTool>();
  let cursor: string | undefined;
  for (let pages = 0; pages < maxPages && tools.size < maxTools; pages++) {
    const answer = await page(cursor === undefined ? {} : { cursor });
    for (const item of answer.tools.slice(0, maxTools - tools.size)) {
      const { data } = toolSchema.safeParse(item);
      if (data === undefined || tools.has(data.name)) continue;
      const { name, description, inputSchema, annotations } = data;
      tools.set(name, { name, description, inputSchema, isReadOnly: annotations?.readOnlyHint === true });
    }
    cursor = answer.nextCursor;
    if (cursor === undefined) break;
  }
  return [...tools.values()];
}

function transportTo(config: UpstreamConfig): StdioClientTransport | StreamableHTTPClientTransport {
  if (config.kind === "http") {
    // The attack: a redirect that takes the headers, and the token in them, to another host.
    const requestInit = { headers: { ...config.headers }, redirect: "error" as const };
    return new StreamableHTTPClientTransport(new URL(config.url), {
      requestInit,
      fetch: boundedFetch(maxMessageBytes),
    });
  }
  const { command, args, env, cwd } = config;
  const transport = new StdioClientTransport({
    ...{ command, args: [...args], env: { ...env, [upstreamVariable]: "1" }, ...(cwd === undefined ? {} : { cwd }) },
    // Read and dropped: on our standard error it would mix with messages for the client's user.
    ...{ stderr: "pipe", maxBufferSize: maxMessageBytes },
  });
  transport.stderr?.on("data", () => {});
  return transport;
}

async function closeClient(client: Client, transport: Transport): Promise<void> {
  const pid = transport instanceof StdioClientTransport ? transport.pid : null;
  const timer = setTimeout(() => killed(pid), killAfterMs);
  try {
    await client.close();
  } catch (cause) {
    throw new CodecellError("internal", "an MCP server could not be closed", { cause });
  } finally {
    clearTimeout(timer);
  }
}

function killed(pid: number | null): void {
  if (pid === null) return;
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // it is gone
  }
}
