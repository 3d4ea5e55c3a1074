import { once } from "node:events";
import { chmodSync, chownSync, mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";

/** the name inside the directory that the cell sees */
export const listenerName = "s";
/** what the address of a Unix socket holds, its last zero included */
const longestPath = 107;

/** A socket for one cell, which connects to it before any code of a user runs there. */
export interface CellListener extends AsyncDisposable {
  /** host directory with nothing but the socket in it */
  readonly directory: string;
  /** never settles when the cell does not come */
  readonly connection: Promise<Socket>;
}

/**
 * Listens in a directory of its own for the one connection of a cell. The first closes it for good: code in the cell that
 * finds the socket later reaches nobody. Undefined where the path is too long for a socket.
 */
export async function listenForCell(directory: string, uid: number | undefined): Promise<CellListener | undefined> {
  const path = join(directory, listenerName);
  if (Buffer.byteLength(path) > longestPath) return undefined;
  // A cold start waits for this: five calls of microseconds, which would take a turn of the thread pool each.
  mkdirSync(directory, { mode: 0o700 }); // until the socket has its own rights, nobody else gets to it
  const server = createServer({ allowHalfOpen: true });
  const close = async () => {
    await closed(server);
    await rm(directory, { recursive: true, force: true });
  };
  try {
    server.listen(path);
    await once(server, "listening");
    chmodSync(path, 0o600);
    if (uid !== undefined) for (const owned of [path, directory]) chownSync(owned, uid, uid);
  } catch (error) {
    await close();
    throw error;
  }
  server.unref(); // a cell that never comes holds nobody
  server.maxConnections = 1;
  const connection = new Promise<Socket>((resolve) => {
    server.once("connection", (socket) => {
      resolve(socket);
      close().catch(() => {}); // the runner's own directory goes later in any case
    });
  });
  return { directory, connection, [Symbol.asyncDispose]: close };
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve()); // an error says that it is closed already
  });
}
