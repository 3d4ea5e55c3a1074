import { randomBytes } from "node:crypto";
import { CodecellError } from "../../lib/errors.ts";
import type { Logger } from "../../lib/log/logger.ts";
import type { AcquireOptions } from "./acquire-session.ts";
import type { Database } from "./database.ts";
import { KeptConnection } from "./kept-connection.ts";
import { OwnedSessions, type Ownership, type SessionOwners } from "./session-owner.ts";

/**
 * Owners that are processes with a connection to the database. When a process is killed, the server ends its lock, and its
 * sessions can be taken. If only the connection broke, a session that was taken meanwhile is lost: its epoch is out of date.
 */
export class ProcessOwners implements SessionOwners {
  readonly owner: string;
  readonly #label: string;
  readonly #owned: OwnedSessions;
  readonly #connection: KeptConnection;

  private constructor(owner: string, database: Database, connection: KeptConnection) {
    this.owner = owner;
    this.#label = database.label;
    this.#owned = new OwnedSessions(database, owner);
    this.#connection = connection;
  }

  static async open(database: Database, logger: Logger): Promise<ProcessOwners> {
    const owner = `process-${randomBytes(12).toString("hex")}`;
    const connection = await KeptConnection.open(database, {
      setUp: async (client) => {
        await client.query("select pg_advisory_lock(hashtextextended($1, 0))", [owner]);
      },
      logger,
    });
    return new ProcessOwners(owner, database, connection);
  }

  async acquire(id: string, options?: AcquireOptions): Promise<Ownership | undefined> {
    if (this.#connection.isUp) return this.#owned.acquire(id, options);
    // Others would believe that this process is gone, and take its sessions.
    throw new CodecellError("service_unavailable", `the connection to the database (${this.#label}) broke`, {
      hint: "try again: it is opened again",
      details: { reason: "database" },
    });
  }

  release(id: string, ownership: Ownership): Promise<void> {
    return this.#owned.release(id, ownership);
  }

  isOwned(id: string): Promise<boolean> {
    return this.#owned.isOwned(id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection[Symbol.asyncDispose]();
  }
}
