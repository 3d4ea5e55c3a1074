import { createSocket } from "node:dgram";
import { createServer, type ListenOptions, type Server } from "node:net";
import { join } from "node:path";
import { Cleanup } from "../../lib/cleanup.ts";

/** sun_path without its first byte */
const longestAbstract = 107;

/** Listeners of the host, all on loopback, that no cell may reach. */
export interface CanaryListeners extends AsyncDisposable {
  /** the same port on every loopback address */
  readonly port: number;
  readonly udpPort: number;
  /** name of an abstract Unix socket; undefined: this OS has none */
  readonly abstract: string | undefined;
  /** path of a Unix socket */
  readonly socket: string;
  /** Names of the listeners that were reached since the last call. */
  reached(): string[];
}

/** Opens the listeners. `directory` gets the Unix socket. */
export async function openCanaryListeners(directory: string, tag: string): Promise<CanaryListeners> {
  await using cleanup = new Cleanup();
  const seen = new Set<string>();
  const listen = async (name: string, options: ListenOptions): Promise<number> => {
    const server = createServer((socket) => {
      seen.add(name);
      socket.on("error", () => {});
      socket.destroy();
    });
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(options, resolve);
    });
    cleanup.defer(() => closed(server));
    const address = server.address();
    return typeof address === "object" && address ? address.port : 0;
  };
  const port = await listen("a port of 127.0.0.1", { host: "127.0.0.1", port: 0 });
  // Not every OS has a second loopback address, and not every host has IPv6.
  await listen("a port of 127.0.0.2", { host: "127.0.0.2", port }).catch(() => {});
  await listen("a port of ::1", { host: "::1", port }).catch(() => {});
  // As long as a name can be: Node pads shorter ones with NUL bytes, and a program would look for another socket.
  const abstract = process.platform === "linux" ? `codecell-attack-${tag}`.padEnd(longestAbstract, "x") : undefined;
  if (abstract !== undefined) await listen("an abstract socket", { path: `\0${abstract}` });
  const socket = join(directory, "listener.sock");
  await listen("a Unix socket", { path: socket, writableAll: true });
  const datagrams = createSocket("udp4", () => seen.add("a UDP port of 127.0.0.1"));
  await new Promise<void>((resolve, reject) => {
    datagrams.once("error", reject);
    datagrams.bind(0, "127.0.0.1", resolve);
  });
  cleanup.defer(() => new Promise<void>((resolve) => datagrams.close(() => resolve())));
  const owned = cleanup.move();
  return {
    ...{ port, udpPort: datagrams.address().port, abstract, socket },
    reached() {
      const names = [...seen];
      seen.clear();
      return names;
    },
    [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose](),
  };
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
