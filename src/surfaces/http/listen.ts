import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { HttpLimits } from "./limits.ts";
import { listenFailure } from "./listen-failure.ts";

/** What a port can be opened for: `HttpService`, `MountServer`. */
export interface Listening {
  readonly limits: HttpLimits;
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Called once the address for clients is known. */
  listensAt?(url: string): void;
}

/** An open port. */
export interface Listener {
  readonly url: string;
  readonly port: number;
  /** Accepts no new connections, and closes idle ones. */
  stop(): void;
  /** Closes every connection. */
  end(): Promise<void>;
}

/** share of the connections above which idle ones are closed */
const crowdedShare = 0.75;
/** Longer than proxies keep an idle connection. If the server closed it first, the proxy's next request would fail. */
const keepAliveMs = 65_000;

/**
 * The address for clients on this machine. A wildcard is none: requests that name it are refused, and browsers do not open it.
 * The attack: `localhost` may mean the other family first, where another user of the machine can listen and get the tokens.
 */
export function localUrl(url: string): string {
  return url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:");
}

/** Opens a port for a service, with limits for connections that are not authenticated yet. */
export async function listen(service: Listening, { host, port }: { host: string; port: number }): Promise<Listener> {
  const { limits } = service;
  const server = createServer(
    {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersMs,
      requestTimeout: Math.max(limits.requestMs, limits.headersMs),
      connectionsCheckingInterval: Math.min(5_000, limits.headersMs),
      keepAliveTimeout: keepAliveMs,
    },
    (request, response) => {
      response.on("timeout", endIfStalled);
      service.handle(request, response);
    },
  );
  server.timeout = limits.stallMs;
  // No limit: Node would ignore what follows. The size is limited, and the gate refuses too many.
  server.maxHeadersCount = 0;
  server.maxConnections = limits.connections;
  makeRoom(server, limits.connections);
  await listening(server, host, port);
  const { port: bound } = server.address() as AddressInfo;
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${bound}`;
  service.listensAt?.(localUrl(url));
  let closed: Promise<unknown> | undefined;
  const stop = () => {
    closed ??= new Promise((resolve) => server.close(resolve));
    server.closeIdleConnections();
  };
  return {
    url,
    port: bound,
    stop,
    async end() {
      stop();
      server.closeAllConnections();
      await closed;
    },
  };
}

/**
 * The attack: a client sends many requests on one connection and never reads. The responses fill the buffer, and no other
 * timeout applies. A client that waits for a response, or reads slowly, is not affected.
 */
function endIfStalled(socket: Socket): void {
  if (socket.writableLength > 0) socket.destroy();
}

/** Closes idle connections when there are many. The attack: idle connections keep everybody else out. */
function makeRoom(server: Server, maxConnections: number): void {
  let open = 0;
  server.on("connection", (socket) => {
    open++;
    socket.once("close", () => open--);
    if (open >= Math.ceil(maxConnections * crowdedShare)) server.closeIdleConnections();
  });
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause) => reject(listenFailure(host, port, cause)));
    server.listen(port, host, resolve);
  });
}
