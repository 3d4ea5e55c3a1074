import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** A relay on loopback that cuts connections on command, as a network does. */
export class CuttingRelay implements AsyncDisposable {
  readonly url: string;
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  /** connections so far */
  connections = 0;
  /** bytes of replies that still pass before the connection is cut; undefined: all */
  replyBytes: number | undefined;

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** the port that connections go to */
  target = 0;

  static async listen(): Promise<CuttingRelay> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const relay = new CuttingRelay(server);
    server.on("connection", (near) => relay.#join(near, connect(relay.target, "127.0.0.1")));
    return relay;
  }

  /** Cuts every open connection. */
  cut(): void {
    for (const socket of this.#open) socket.destroy();
  }

  #join(near: Socket, far: Socket): void {
    this.connections++;
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#open.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#open.delete(socket);
        other.destroy();
      });
    }
    near.pipe(far);
    far.on("data", (bytes) => {
      if (this.replyBytes === undefined) return void near.write(bytes);
      near.write(bytes.subarray(0, this.replyBytes));
      this.replyBytes -= bytes.byteLength;
      if (this.replyBytes > 0) return;
      this.replyBytes = undefined;
      near.end(() => near.destroy());
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    this.#server.close();
  }
}
