import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface TokenRelay extends AsyncDisposable {
  readonly url: string;
}

/**
 * Adds the bearer token to every request, for clients that cannot send one. `Host` and `Origin` keep their names, so that the
 * server's own checks of them are tested; the relay's port becomes that of the server.
 */
export async function startTokenRelay(target: URL, token: string): Promise<TokenRelay> {
  let port = 0;
  const server = createServer((incoming, outgoing) => {
    for (const name of ["host", "origin"] as const) {
      const value = incoming.headers[name];
      if (value) incoming.headers[name] = value.replace(new RegExp(`:${port}$`), `:${target.port}`);
    }
    pass(incoming, outgoing, target, token);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${port}${target.pathname}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function pass(incoming: IncomingMessage, outgoing: ServerResponse, target: URL, token: string): void {
  const { method, url: path, headers } = incoming;
  const { hostname, port } = target;
  const onward = request({ hostname, port, path, method, headers: { ...headers, authorization: `Bearer ${token}` } });
  onward.on("response", (response) => {
    outgoing.writeHead(response.statusCode ?? 502, response.headers);
    outgoing.flushHeaders(); // open a stream that has no data yet
    response.pipe(outgoing);
  });
  onward.on("error", () => outgoing.destroy());
  outgoing.on("close", () => onward.destroy()); // closing the stream is how a modern client cancels
  incoming.pipe(onward);
}
