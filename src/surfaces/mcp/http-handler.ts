import type { IncomingMessage, ServerResponse } from "node:http";
import { toNodeHandler, toWebRequest } from "@modelcontextprotocol/node";
import { createMcpHandler, isLegacyRequest } from "@modelcontextprotocol/server";
import { JsonRefused, parseJson } from "../../lib/json/parse-json.ts";
import { silentLogger } from "../../lib/log/logger.ts";
import { loopTurns } from "../../lib/waiting/loop-turns.ts";
import { type BodyMemory, freeBytes } from "../../service/body-memory.ts";
import { taggedGateway } from "../../service/gateways/gateway-tag.ts";
import type { LazySandbox } from "../../service/lazy-sandbox.ts";
import { type BodyLimits, readBody } from "../../service/read-body.ts";
import { LegacyConnections } from "./legacy-connections.ts";
import { type NamedInMessage, namedInMessage, nothingNamed } from "./named-in-message.ts";
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
  /** end of the ids of connections: where several gateways serve a user, it names this one */
  readonly idTag?: string;
}

/** The other gateways, for one request; `MountPeers` of the HTTP surface is one. */
interface Peers {
  /** whether a peer passed the request on */
  readonly isForwarded: boolean;
  toGateway(id: string, body?: Uint8Array): Promise<boolean>;
  toSession(id: string | undefined, body: Uint8Array): Promise<boolean>;
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

  async handle(message: IncomingMessage, response: ServerResponse, peers?: Peers): Promise<void> {
    const request = message as IncomingMessage & NodeRequest;
    const isStream = request.method !== "POST";
    if (peers && isStream && (await passedToConnection(request, peers))) return;
    using memory = this.#bodyMemory?.lease();
    const limits = { maxBytes: this.#maxBodyBytes, waitMs: this.#bodyWaitMs, memory };
    const read = await readMessage(request, response, limits);
    if (read === refused) return;
    const { body, bytes } = read;
    const named = peers ? namedInMessage(body) : nothingNamed;
    if (peers && (await passedToOwner(named, bytes, peers))) return;
    if (peers && named.kind === "nothing" && (await passedToConnection(request, peers, bytes))) return;
    const isLegacy =
      request.method !== "POST" ||
      request.headers["mcp-session-id"] !== undefined ||
      (await isLegacyRequest(await toWebRequest(request, body), body));
    if (!isLegacy) return this.#handleModern(request, response, body);
    // What it is about is here, although the connection may be elsewhere.
    const isRouted = peers !== undefined && (peers.isForwarded || named.kind !== "nothing");
    await this.#legacy.handle(request, response, body, { isRouted });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopNotifying();
    await Promise.allSettled([this.#legacy[Symbol.asyncDispose](), this.#modern.close()]);
  }
}

const refused = Symbol("refused");

/** A connection of an older protocol version is in the memory of one gateway, which its id names. */
async function passedToConnection({ headers }: IncomingMessage, peers: Peers, bytes?: Uint8Array): Promise<boolean> {
  const id = headers["mcp-session-id"];
  const gateway = typeof id === "string" ? taggedGateway(id) : undefined;
  return gateway !== undefined && peers.toGateway(gateway, bytes);
}

async function passedToOwner(named: NamedInMessage, bytes: Uint8Array, peers: Peers): Promise<boolean> {
  if (named.kind === "nothing") return false;
  if (named.kind === "gateway") return peers.toGateway(named.id, bytes);
  return peers.toSession(named.kind === "session" ? named.id : undefined, bytes);
}

async function readMessage(
  request: IncomingMessage,
  response: ServerResponse,
  limits: BodyLimits,
): Promise<{ body: unknown; bytes: Uint8Array } | typeof refused> {
  const read = await readBody(request, limits);
  if ("refused" in read) {
    if (read.refused === "gone") response.destroy();
    else response.writeHead(read.refused === "busy" ? 429 : 413, { connection: "close" }).end();
    return refused;
  }
  if (read.body.byteLength === 0) return { body: undefined, bytes: read.body };
  if (read.body.byteLength > freeBytes) await loopTurns.next();
  try {
    return { body: parseJson(read.body.toString("utf8")), bytes: read.body };
  } catch (error) {
    const message = error instanceof JsonRefused ? `Parse error: the body is refused: ${error.message}` : "Parse error";
    response.writeHead(400, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", error: { code: -32_700, message }, id: null }));
    return refused;
  }
}
