import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Two web servers on loopback that the policy of `network` allows. Only the first may get the secret. */
export interface CanaryWeb extends AsyncDisposable {
  readonly port: number;
  readonly otherPort: number;
  /** Requests since the last call that brought the secret to the server that may not have it. */
  leaks(): string[];
}

/** `/echo` returns the whole request, `/redirect` leads to the other server. */
export async function openCanaryWeb(secret: string): Promise<CanaryWeb> {
  const leaks: string[] = [];
  const other = await listen((request, head) => {
    if (head.includes(secret)) leaks.push(`${request.method} ${request.url?.slice(0, 100)}`);
    return { body: "other" };
  });
  const otherPort = portOf(other);
  const good = await listen((request, head) => {
    if (request.url?.startsWith("/redirect")) return { location: `http://other.example:${otherPort}/`, body: "" };
    return { body: request.url?.startsWith("/echo") ? head : "good" };
  });
  return {
    port: portOf(good),
    otherPort,
    leaks: () => leaks.splice(0),
    async [Symbol.asyncDispose]() {
      await Promise.all([good, other].map(closed));
    },
  };
}

type Answer = (request: IncomingMessage, text: string) => { body: string; location?: string };

async function listen(answer: Answer): Promise<Server> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on("error", () => {});
    response.on("error", () => {});
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.byteLength;
      if (bytes <= 65_536) chunks.push(chunk);
    });
    request.on("end", () => {
      const text = [request.url ?? "", ...request.rawHeaders, Buffer.concat(chunks).toString("latin1")].join("\n");
      const { body, location } = answer(request, text);
      response.writeHead(location === undefined ? 200 : 302, location === undefined ? {} : { location });
      response.end(body);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
