import { messageOf } from "../../lib/errors.ts";
import type { Logger } from "../../lib/log/logger.ts";
import type { Database, RawConnection } from "./database.ts";
import { databaseError } from "./database-errors.ts";

const firstRetryMs = 200;
const longestRetryMs = 5_000;

export interface KeptConnectionOptions {
  /** what the connection is for: sent after each connect */
  readonly setUp: (client: RawConnection) => Promise<void>;
  readonly onNotification?: (channel: string, payload: string | undefined) => void;
  /** the connection is up again: whatever happened meanwhile was missed */
  readonly onBack?: () => void;
  readonly logger: Logger;
}

/** A connection outside the pool that is opened again whenever it breaks: for notifications, and for locks of the server. */
export class KeptConnection implements AsyncDisposable {
  readonly #database: Database;
  readonly #options: KeptConnectionOptions;
  #client: RawConnection | undefined;
  #timer: NodeJS.Timeout | undefined;
  #retryMs = firstRetryMs;
  #isClosed = false;

  private constructor(database: Database, options: KeptConnectionOptions) {
    this.#database = database;
    this.#options = options;
  }

  static async open(database: Database, options: KeptConnectionOptions): Promise<KeptConnection> {
    const connection = new KeptConnection(database, options);
    try {
      await connection.#connect();
    } catch (error) {
      await connection[Symbol.asyncDispose]();
      throw databaseError(error, database.label);
    }
    return connection;
  }

  /** Whether the connection is up, as far as this side knows. */
  get isUp(): boolean {
    return this.#client !== undefined;
  }

  async #connect(): Promise<void> {
    const client = this.#database.newClient();
    client.on("error", (error) =>
      this.#options.logger.warn("the database broke a connection", { error: messageOf(error) }),
    );
    client.on("notification", ({ channel, payload }) => this.#options.onNotification?.(channel, payload));
    client.once("end", () => {
      if (this.#client !== client) return;
      this.#client = undefined;
      this.#retry();
    });
    try {
      await client.connect();
      await this.#options.setUp(client);
    } catch (error) {
      void client.end().catch(() => {});
      throw error;
    }
    if (this.#isClosed) return void client.end().catch(() => {});
    this.#client = client;
    this.#retryMs = firstRetryMs;
  }

  #retry(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#connect().then(
        () => this.#options.onBack?.(),
        () => this.#retry(),
      );
    }, this.#retryMs).unref();
    this.#retryMs = Math.min(this.#retryMs * 2, longestRetryMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => {});
  }
}
