import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { hostHeaderValidation, originValidation } from "@modelcontextprotocol/node";
import { messageOf } from "../../lib/errors.ts";
import type { Logger } from "../../lib/log/logger.ts";
import type { LazySandbox } from "../../service/lazy-sandbox.ts";
import { bearerCheck } from "../../service/tenants/token-file.ts";
import { listenFailure } from "../http/listen-failure.ts";
import { McpHttpHandler } from "./http-handler.ts";
import type { McpServerOptions } from "./server.ts";

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

const path = "/mcp";

/** Streamable HTTP for both eras of the protocol. Who does not hold the token learns nothing and starts nothing. */
export async function serveOverHttp(door: LazySandbox, options: HttpOptions): Promise<HttpServer> {
  const { host, logger } = options;
  const handler = new McpHttpHandler(door, options);
  const isAdmitted = gate(host, options.token);
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    if (isAdmitted(request, response)) await handler.handle(request, response);
  };
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      logger.warn("a request failed", { error: messageOf(error) });
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  await listen(server, options);
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://${host.includes(":") ? `[${host}]` : host}:${port}${path}`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      await handler[Symbol.asyncDispose]();
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

function answer(response: ServerResponse, status: number, headers: Record<string, string> = {}): false {
  response.writeHead(status, headers).end();
  return false;
}

function listen(server: Server, { host, port }: Pick<HttpOptions, "host" | "port">): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause) => reject(listenFailure(host, port, cause)));
    server.listen(port, host, resolve);
  });
}
