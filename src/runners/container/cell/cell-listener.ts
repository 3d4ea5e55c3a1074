import { once } from "node:events";
import { chmodSync, chownSync, mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";

/** the socket's name in the directory that the cell sees */
export const listenerName = "s";
/** the longest path of a Unix socket */
const longestPath = 107;

/** A socket for one cell, which connects to it before it runs any user code. */
export interface CellListener extends AsyncDisposable {
  /** host directory that contains only the socket */
  readonly directory: string;
  /** never settles if the cell does not connect */
  readonly connection: Promise<Socket>;
}

/**
 * Listens in its own directory for the one connection of a cell. It stops listening after the first connection, so that
 * user code that finds the socket cannot impersonate the supervisor. Undefined if the path is too long for a socket.
 */
export async function listenForCell(directory: string, uid: number | undefined): Promise<CellListener | undefined> {
  const path = join(directory, listenerName);
  if (Buffer.byteLength(path) > longestPath) return undefined;
  // Synchronous, because a cold start waits for this and each call takes microseconds.
  mkdirSync(directory, { mode: 0o700 }); // keeps other users out until the socket has its own permissions
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
  server.unref(); // a cell that never connects does not keep the process running
  server.maxConnections = 1;
  const connection = new Promise<Socket>((resolve) => {
    server.once("connection", (socket) => {
      resolve(socket);
      close().catch(() => {}); // the runner's directory is removed later in any case
    });
  });
  return { directory, connection, [Symbol.asyncDispose]: close };
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve()); // an error means that it is already closed
  });
}
