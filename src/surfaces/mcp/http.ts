import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { hostHeaderValidation, originValidation, toNodeHandler, toWebRequest } from "@modelcontextprotocol/node";
import { createMcpHandler, isLegacyRequest } from "@modelcontextprotocol/server";
import { CodecellError, messageOf } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import { bearerCheck } from "./bearer-token.ts";
import { LegacyConnections } from "./legacy-connections.ts";
import type { SandboxDoor } from "./sandbox-door.ts";
import { buildMcpServer, type McpServerOptions } from "./server.ts";

export interface HttpOptions extends McpServerOptions {
  readonly host: string;
  /** 0: any that is free */
  readonly port: number;
  readonly token: string;
  readonly logger: Logger;
}

export interface HttpServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
}

/** The SDK's view of a request, which differs from Node's only in how it writes optional properties. */
type NodeRequest = Parameters<typeof toWebRequest>[0];

const maxBodyBytes = 16 * 1024 * 1024;
const path = "/mcp";

/** Streamable HTTP for both eras of the protocol. Who does not hold the token learns nothing and starts nothing. */
export async function serveOverHttp(door: SandboxDoor, options: HttpOptions): Promise<HttpServer> {
  const { host, logger } = options;
  const legacy = new LegacyConnections(door, options);
  const modern = createMcpHandler(() => buildMcpServer(door, options), {
    legacy: "reject",
    maxRequestBodySize: maxBodyBytes,
    onerror: (error) => logger.debug("mcp", { error }),
  });
  const handleModern = toNodeHandler(modern);
  const isAdmitted = gate(host, options.token);
  const handle = async (request: IncomingMessage & NodeRequest, response: ServerResponse) => {
    if (!isAdmitted(request, response)) return;
    const body = await readBody(request, response);
    if (body === refused) return;
    const isLegacy =
      request.method !== "POST" ||
      request.headers["mcp-session-id"] !== undefined ||
      (await isLegacyRequest(await toWebRequest(request, body), body));
    await (isLegacy ? legacy.handle(request, response, body) : handleModern(request, response, body));
  };
  const server = createServer((request, response) => {
    handle(request as IncomingMessage & NodeRequest, response).catch((error: unknown) => {
      logger.warn("a request failed", { error: messageOf(error) });
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  await listen(server, options);
  const stopTelling = door.onArtifactsChanged(() => {
    modern.notify.resourcesChanged();
    legacy.artifactsChanged();
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://${host.includes(":") ? `[${host}]` : host}:${port}${path}`,
    async [Symbol.asyncDispose]() {
      stopTelling();
      const closed = new Promise((resolve) => server.close(resolve));
      await Promise.allSettled([legacy[Symbol.asyncDispose](), modern.close()]);
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Answers what may not pass. Names first: a web page that reaches us by DNS rebinding or from its own origin is refused. */
function gate(host: string, token: string): (request: IncomingMessage, response: ServerResponse) => boolean {
  const names = [...new Set(["localhost", "127.0.0.1", "[::1]", host.includes(":") ? `[${host}]` : host])];
  const isKnownHost = hostHeaderValidation(names);
  const isKnownOrigin = originValidation(names);
  const holdsToken = bearerCheck(token);
  return (request, response) => {
    if (!isKnownHost(request, response) || !isKnownOrigin(request, response)) return false;
    if (!holdsToken(request.headers.authorization)) return answer(response, 401, { "www-authenticate": "Bearer" });
    const isHere = (request.url ?? "").split("?")[0] === path;
    return isHere || answer(response, 404);
  };
}

const refused = Symbol("refused");

async function readBody(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size > maxBodyBytes) {
      answer(response, 413, { connection: "close" });
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

function answer(response: ServerResponse, status: number, headers: Record<string, string> = {}): false {
  response.writeHead(status, headers).end();
  return false;
}

function listen(server: Server, { host, port }: Pick<HttpOptions, "host" | "port">): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause) => {
      const message = `cannot listen on ${host}:${port}: ${messageOf(cause)}`;
      reject(new CodecellError("usage", message, { cause, hint: "choose another --port, or 0 for any" }));
    });
    server.listen(port, host, resolve);
  });
}
