import { once } from "node:events";
import type { AddressInfo, Server, Socket } from "node:net";
import type { EgressProxy } from "../../src/egress/proxy/proxy.ts";

/** The servers, sockets and proxies of one test on loopback. Disposing closes them all. */
export class LoopbackServers implements AsyncDisposable {
  readonly proxies: EgressProxy[] = [];
  sockets: Socket[] = [];
  readonly #servers: Server[] = [];

  /** Starts to listen, and returns the port. */
  async listen(server: Server): Promise<number> {
    this.#servers.push(server);
    server.on("connection", (socket: Socket) => this.sockets.push(socket));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const proxy of this.proxies) proxy.close();
    for (const socket of this.sockets) socket.destroy();
    await Promise.all(this.#servers.map((server) => new Promise((closed) => server.close(closed))));
  }
}
