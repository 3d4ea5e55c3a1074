import type { IncomingMessage, ServerResponse } from "node:http";
import { toNodeHandler, toWebRequest } from "@modelcontextprotocol/node";
import { createMcpHandler, isLegacyRequest } from "@modelcontextprotocol/server";
import { silentLogger } from "../../lib/log/logger.ts";
import { loopTurns } from "../../lib/loop-turns.ts";
import { JsonRefused, parseJson } from "../../lib/parse-json.ts";
import { type BodyMemory, freeBytes } from "../../service/body-memory.ts";
import type { LazySandbox } from "../../service/lazy-sandbox.ts";
import { type BodyLimits, readBody } from "../../service/read-body.ts";
import { LegacyConnections } from "./legacy-connections.ts";
import { createMcpServer, type McpServerOptions } from "./server.ts";

/** The SDK's type of a request differs from Node's only in optional properties. */
type NodeRequest = Parameters<typeof toWebRequest>[0];

const defaultBodyBytes = 16 * 1024 * 1024;

const defaultWaitMs = 30_000;

interface BodyOptions {
  readonly maxBodyBytes: number;
  /** how long a large body may wait for memory */
  readonly bodyWaitMs: number;
  readonly bodyMemory: BodyMemory;
}

/** MCP on `/mcp` of an `HttpService`, or of a `MountServer`. */
export function mcpMount(options: McpServerOptions = {}) {
  return {
    path: "/mcp",
    open: (sandbox: LazySandbox, limits: BodyOptions) => new McpHttpHandler(sandbox, { ...options, ...limits }),
  };
}

/** Streamable HTTP for old and new protocol versions. It checks no token: the caller must do that. */
export class McpHttpHandler implements AsyncDisposable {
  readonly #legacy: LegacyConnections;
  readonly #modern: ReturnType<typeof createMcpHandler>;
  readonly #handleModern: ReturnType<typeof toNodeHandler>;
  readonly #stopNotifying: () => void;
  readonly #maxBodyBytes: number;
  readonly #bodyWaitMs: number;
  readonly #bodyMemory: BodyMemory | undefined;

  constructor(sandbox: LazySandbox, options: McpServerOptions & Partial<BodyOptions>) {
    const { logger = silentLogger, maxBodyBytes = defaultBodyBytes } = options;
    this.#maxBodyBytes = maxBodyBytes;
    this.#bodyWaitMs = options.bodyWaitMs ?? defaultWaitMs;
    this.#bodyMemory = options.bodyMemory;
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
    using memory = this.#bodyMemory?.lease();
    const limits = { maxBytes: this.#maxBodyBytes, waitMs: this.#bodyWaitMs, memory };
    const body = await readMessage(request, response, limits);
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

async function readMessage(request: IncomingMessage, response: ServerResponse, limits: BodyLimits): Promise<unknown> {
  const read = await readBody(request, limits);
  if ("refused" in read) {
    if (read.refused === "gone") response.destroy();
    else response.writeHead(read.refused === "busy" ? 429 : 413, { connection: "close" }).end();
    return refused;
  }
  if (read.body.byteLength === 0) return undefined;
  if (read.body.byteLength > freeBytes) await loopTurns.next();
  try {
    return parseJson(read.body.toString("utf8"));
  } catch (error) {
    const message = error instanceof JsonRefused ? `Parse error: the body is refused: ${error.message}` : "Parse error";
    response.writeHead(400, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", error: { code: -32_700, message }, id: null }));
    return refused;
  }
}
