import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { NodeStreamableHTTPServerTransport } from "@modelcontextprotocol/node";
import { isInitializeRequest } from "@modelcontextprotocol/server";
import type { LazySandbox } from "../../service/lazy-sandbox.ts";
import { createMcpServer, type McpServerOptions } from "./server.ts";

const maxConnections = 256;
const idleMs = 30 * 60_000;

interface Connection {
  readonly transport: NodeStreamableHTTPServerTransport;
  readonly notify: () => void;
  requests: number;
  usedAt: number;
}

/**
 * Connections of HTTP clients with a protocol version before 2026-07-28. They have an id, because a cancellation is a
 * separate request that must find the server of its call. A connection owns no session of the sandbox.
 */
export class LegacyConnections implements AsyncDisposable {
  readonly #sandbox: LazySandbox;
  readonly #options: McpServerOptions;
  readonly #idTag: string;
  readonly #connections = new Map<string, Connection>();
  readonly #sweep = setInterval(() => this.#closeIdle(), 60_000).unref();

  constructor(sandbox: LazySandbox, options: McpServerOptions & { readonly idTag?: string }) {
    this.#idTag = options.idTag ?? "";
    this.#sandbox = sandbox;
    this.#options = options;
  }

  async handle(
    request: IncomingMessage,
    response: ServerResponse,
    body: unknown,
    { isRouted }: { readonly isRouted: boolean },
  ): Promise<void> {
    const id = request.headers["mcp-session-id"];
    if (id === undefined && isInitializeRequest(body)) return this.#open(request, response, body);
    const connection = typeof id === "string" ? this.#connections.get(id) : undefined;
    if (connection) return this.#serve(connection, request, response, body);
    if (isRouted && id !== undefined) return this.#serveOnce(request, response, body);
    if (id === undefined) return refuse(response, 400, -32_000, "the Mcp-Session-Id header is missing");
    refuse(response, 404, -32_001, "unknown Mcp-Session-Id; initialize again");
  }

  artifactsChanged(): void {
    for (const { notify } of this.#connections.values()) notify();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#sweep);
    await Promise.allSettled([...this.#connections.values()].map(({ transport }) => transport.close()));
  }

  async #open(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> {
    if (this.#connections.size >= maxConnections && !this.#closeOldest()) {
      return refuse(response, 503, -32_000, `${maxConnections} connections are open, which is the limit`);
    }
    const server = createMcpServer(this.#sandbox, this.#options);
    const transport: NodeStreamableHTTPServerTransport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => `${randomUUID()}${this.#idTag}`,
      onsessioninitialized: (id) => {
        this.#connections.set(id, connection);
      },
    });
    const notify = () => {
      if (server.isConnected()) server.sendResourceListChanged();
    };
    const connection: Connection = { transport, notify, requests: 0, usedAt: performance.now() };
    await server.connect(transport);
    const closed = transport.onclose;
    transport.onclose = () => {
      if (transport.sessionId !== undefined) this.#connections.delete(transport.sessionId);
      closed?.();
    };
    await this.#serve(connection, request, response, body);
  }

  /** A call for a session that is here, on a connection of another gateway. The id of a connection permits nothing: the token does. */
  async #serveOnce(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> {
    const transport = new NodeStreamableHTTPServerTransport({});
    await createMcpServer(this.#sandbox, this.#options).connect(transport);
    response.once("close", () => void transport.close());
    await transport.handleRequest(request, response, body);
  }

  async #serve(connection: Connection, request: IncomingMessage, response: ServerResponse, body: unknown) {
    connection.requests++;
    connection.usedAt = performance.now();
    response.once("close", () => {
      connection.requests--;
      connection.usedAt = performance.now();
    });
    await connection.transport.handleRequest(request, response, body);
  }

  #closeIdle(): void {
    const oldest = performance.now() - idleMs;
    for (const { transport, requests, usedAt } of this.#connections.values()) {
      if (requests === 0 && usedAt < oldest) void transport.close();
    }
  }

  #closeOldest(): boolean {
    const idle = [...this.#connections.values()].filter(({ requests }) => requests === 0);
    const [oldest] = idle.sort((a, b) => a.usedAt - b.usedAt);
    void oldest?.transport.close();
    return oldest !== undefined;
  }
}

function refuse(response: ServerResponse, status: number, code: number, message: string): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", error: { code, message }, id: null }));
}
