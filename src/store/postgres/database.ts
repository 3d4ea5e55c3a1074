import { readFile } from "node:fs/promises";
import { Socket } from "node:net";
import type { ClientConfig, Pool, PoolClient } from "pg";
import { CodecellError, messageOf } from "../../lib/errors.ts";
import { type Logger, silentLogger } from "../../lib/log/logger.ts";
import { Semaphore } from "../../lib/waiting/semaphore.ts";
import { databaseError } from "./database-errors.ts";
import { type DatabaseAddress, databaseLabel, parseDatabaseUrl } from "./database-url.ts";
import { loadPg } from "./load-pg.ts";
import { passwordFromFile } from "./password-file.ts";

/** Limits of every connection. A database that does not answer must not hold up runs, or fill up memory. */
const limits = {
  connections: 10,
  /** the part of them that bytes of sessions may use, however many saves there are */
  bulkPart: 0.5,
  connectMs: 3_000,
  statementMs: 30_000,
  lockMs: 10_000,
  idleMs: 30_000,
} as const;

export interface DatabaseOptions {
  /** how many connections are open at most, besides the two that wait for notifications; default: 10 */
  readonly connections?: number;
  readonly logger?: Logger;
}

/** What a statement can be sent to: a pool, or one transaction. Values are always parameters, never part of the text. */
export interface Queries {
  query<Row extends object>(text: string, values?: readonly unknown[], options?: QueryOptions): Promise<Row[]>;
}

export interface QueryOptions {
  /** default: 35 s */
  readonly timeoutMs?: number;
}

/** A connection of `pg`. Its types are not in ours: programs without a database need not install them. */
export interface RawConnection {
  connect(): Promise<unknown>;
  query(text: string, values?: unknown[]): Promise<unknown>;
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(
    event: "notification",
    listener: (message: { readonly channel: string; readonly payload?: string | undefined }) => void,
  ): unknown;
  once(event: "end", listener: () => void): unknown;
}

interface DatabaseParts {
  readonly label: string;
  readonly pool: Pool;
  readonly newClient: () => RawConnection;
  readonly sockets: ReadonlySet<Socket>;
  readonly logger: Logger;
}

/** A PostgreSQL database: a bounded pool of connections, with errors that say what to do. */
export class Database implements Queries, AsyncDisposable {
  /** how messages name it */
  readonly label: string;
  readonly #pool: Pool;
  readonly #newClient: () => RawConnection;
  readonly #sockets: ReadonlySet<Socket>;
  readonly #bulk: Semaphore;
  readonly #logger: Logger;
  #closing: Promise<void> | undefined;

  private constructor(parts: DatabaseParts) {
    this.label = parts.label;
    this.#pool = parts.pool;
    this.#bulk = new Semaphore(Math.max(1, Math.floor(parts.pool.options.max * limits.bulkPart)));
    this.#newClient = parts.newClient;
    this.#sockets = parts.sockets;
    this.#logger = parts.logger;
  }

  /** Opens a database and checks that it answers. */
  static async open(url: string, { connections, logger = silentLogger }: DatabaseOptions = {}): Promise<Database> {
    const address = parseDatabaseUrl(url);
    const pg = loadPg();
    const config = await clientConfig(address);
    const sockets = new Set<Socket>();
    const pool = new pg.Pool({
      ...config,
      stream: () => watchedSocket(sockets),
      max: connections ?? limits.connections,
      idleTimeoutMillis: limits.idleMs,
      allowExitOnIdle: true,
    });
    // An idle connection broke: the pool opens another one when it needs it.
    pool.on("error", (error) => logger.warn("a connection to the database broke", { error: messageOf(error) }));
    const database = new Database({
      ...{ label: databaseLabel(address), pool, sockets, logger },
      newClient: () => new pg.Client(config),
    });
    try {
      await assertTakesAnyText(database);
    } catch (error) {
      await database[Symbol.asyncDispose]();
      throw error;
    }
    return database;
  }

  async query<Row extends object>(
    text: string,
    values: readonly unknown[] = [],
    options: QueryOptions = {},
  ): Promise<Row[]> {
    return this.#ask(() => queryIn<Row>(this.#pool, text, values, options));
  }

  /**
   * For statements that carry bytes of sessions, of which a save sends thousands. They wait for each other, and so leave
   * connections to the others: a request, or the lease of a gateway, must not wait until many large saves are done.
   */
  readonly bulk: Queries = {
    query: (text, values, options) => this.#bulk.run(() => this.query(text, values, options)),
  };

  /** Runs statements in one transaction, which is committed when `work` has returned. */
  async transaction<Result>(work: (queries: Queries) => Promise<Result>): Promise<Result> {
    return this.#ask(async () => {
      const client = await this.#pool.connect();
      // The pool does not listen to a connection that it gave away. Without a listener, a server that restarts between two
      // statements would end this process. The next statement fails anyway, and that is what the caller gets.
      const onBroken = (error: Error) => {
        this.#logger.warn("the database broke a connection in a transaction", { error: messageOf(error) });
      };
      client.on("error", onBroken);
      let broken: unknown;
      try {
        await client.query("begin");
        const result = await work(queriesOf(client));
        await client.query("commit");
        return result;
      } catch (error) {
        // A connection that cannot roll back is closed, which rolls back as well.
        await client.query("rollback").catch((failure: unknown) => {
          broken = failure;
        });
        throw error;
      } finally {
        client.off("error", onBroken); // from here on the pool listens again
        client.release(broken !== undefined);
      }
    });
  }

  /** A connection outside the pool, not connected yet; the caller ends it. */
  newClient(): RawConnection {
    return this.#newClient();
  }

  [Symbol.asyncDispose](): Promise<void> {
    // `pg` forgets a connection whose login failed on our side, without closing it: the process would wait for the server.
    this.#closing ??= this.#pool.end().finally(() => {
      for (const socket of this.#sockets) socket.destroy();
    });
    return this.#closing;
  }

  async #ask<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw databaseError(error, this.label);
    }
  }
}

function watchedSocket(sockets: Set<Socket>): Socket {
  const socket = new Socket();
  sockets.add(socket);
  return socket.once("close", () => sockets.delete(socket));
}

/** The attack, or accident: a variable with a name that the encoding lacks makes a session impossible to save. */
async function assertTakesAnyText(database: Database): Promise<void> {
  const text = "select current_setting('server_encoding') as encoding";
  const [row] = await database.query<{ encoding: string }>(text);
  if (row?.encoding === "UTF8" || row?.encoding === "SQL_ASCII") return;
  throw new CodecellError("usage", `the database (${database.label}) has the encoding ${row?.encoding}`, {
    hint: "create one with: create database codecell encoding 'UTF8' template template0",
  });
}

function queriesOf(client: PoolClient): Queries {
  return { query: (text, values = [], options = {}) => queryIn(client, text, values, options) };
}

async function queryIn<Row extends object>(
  target: Pool | PoolClient,
  text: string,
  values: readonly unknown[],
  { timeoutMs }: QueryOptions,
): Promise<Row[]> {
  const query = { text, values: [...values], ...(timeoutMs === undefined ? {} : { query_timeout: timeoutMs }) };
  const { rows } = await target.query<Row>(query);
  return rows;
}

async function clientConfig({ host, port, database, user, password, tls }: DatabaseAddress): Promise<ClientConfig> {
  const read = async (path: string | undefined) => (path === undefined ? undefined : await readPem(path));
  const ssl =
    tls.mode === "off"
      ? false
      : {
          rejectUnauthorized: tls.mode === "verified",
          ca: await read(tls.rootCertFile),
          cert: await read(tls.certFile),
          key: await read(tls.keyFile),
        };
  return {
    ...{ host, port, database, ssl },
    ...(user === undefined ? {} : { user }),
    ...passwordOf({ host, port, database, user, password }),
    application_name: "codecell",
    keepAlive: true,
    connectionTimeoutMillis: limits.connectMs,
    statement_timeout: limits.statementMs,
    lock_timeout: limits.lockMs,
    // The server ends a transaction whose gateway is gone, so that its locks do not stop the others.
    idle_in_transaction_session_timeout: limits.statementMs,
    query_timeout: limits.statementMs + 5_000,
  };
}

/** The password of the URL, or of the environment, which `pg` reads itself, or of a file, which it asks for when it needs it. */
function passwordOf(
  { host, port, database, user, password }: Omit<DatabaseAddress, "tls">,
  environment: NodeJS.ProcessEnv = process.env,
): Pick<ClientConfig, "password"> {
  if (password !== undefined) return { password };
  if (environment.PGPASSWORD) return {};
  // The same default as that of `pg`.
  const name = user ?? environment.PGUSER ?? environment.USER ?? "";
  return { password: async () => (await passwordFromFile({ host, port, database, user: name }, environment)) ?? "" };
}

async function readPem(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new CodecellError("usage", `a certificate of the database cannot be read: ${messageOf(cause)}`, {
      hint: "check sslrootcert, sslcert and sslkey in the URL of the database",
      cause,
    });
  }
}
