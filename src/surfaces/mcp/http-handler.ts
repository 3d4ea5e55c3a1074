import type { IncomingMessage, ServerResponse } from "node:http";
import { toNodeHandler, toWebRequest } from "@modelcontextprotocol/node";
import { createMcpHandler, isLegacyRequest } from "@modelcontextprotocol/server";
import { silentLogger } from "../../lib/log/logger.ts";
import type { LazySandbox } from "../../service/lazy-sandbox.ts";
import { LegacyConnections } from "./legacy-connections.ts";
import { createMcpServer, type McpServerOptions } from "./server.ts";

/** The SDK's type of a request differs from Node's only in optional properties. */
type NodeRequest = Parameters<typeof toWebRequest>[0];

const defaultBodyBytes = 16 * 1024 * 1024;

/** MCP on `/mcp` of an `HttpService`, or of a `MountServer`. */
export function mcpMount(options: McpServerOptions = {}) {
  return {
    path: "/mcp",
    open: (sandbox: LazySandbox, { maxBodyBytes }: { readonly maxBodyBytes: number }) =>
      new McpHttpHandler(sandbox, { ...options, maxBodyBytes }),
  };
}

/** Streamable HTTP for old and new protocol versions. It checks no token: the caller must do that. */
export class McpHttpHandler implements AsyncDisposable {
  readonly #legacy: LegacyConnections;
  readonly #modern: ReturnType<typeof createMcpHandler>;
  readonly #handleModern: ReturnType<typeof toNodeHandler>;
  readonly #stopNotifying: () => void;
  readonly #maxBodyBytes: number;

  constructor(sandbox: LazySandbox, options: McpServerOptions & { readonly maxBodyBytes?: number }) {
    const { logger = silentLogger, maxBodyBytes = defaultBodyBytes } = options;
    this.#maxBodyBytes = maxBodyBytes;
    this.#legacy = new LegacyConnections(sandbox, options);
    this.#modern = createMcpHandler(() => createMcpServer(sandbox, options), {
      legacy: "reject",
      maxRequestBodySize: maxBodyBytes,
      onerror: (error) => logger.debug("mcp", { error }),
    });
    this.#handleModern = toNodeHandler(this.#modern);
    this.#stopNotifying = sandbox.onArtifactsChanged(() => {
      this.#modern.notify.resourcesChanged();
      this.#legacy.artifactsChanged();
    });
  }

  async handle(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = message as IncomingMessage & NodeRequest;
    const body = await readBody(request, response, this.#maxBodyBytes);
    if (body === refused) return;
    const isLegacy =
      request.method !== "POST" ||
      request.headers["mcp-session-id"] !== undefined ||
      (await isLegacyRequest(await toWebRequest(request, body), body));
    await (isLegacy ? this.#legacy.handle(request, response, body) : this.#handleModern(request, response, body));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopNotifying();
    await Promise.allSettled([this.#legacy[Symbol.asyncDispose](), this.#modern.close()]);
  }
}

const refused = Symbol("refused");

async function readBody(request: IncomingMessage, response: ServerResponse, maxBodyBytes: number): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size > maxBodyBytes) {
      response.writeHead(413, { connection: "close" }).end();
      return refused;
    }
    chunks.push(chunk);
  }
  if (size === 0) return undefined;
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    response.writeHead(400, { "content-type": "application/json" });
    response.end('{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null}');
    return refused;
  }
}
