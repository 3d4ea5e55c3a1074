import { CodecellError, messageOf } from "../../lib/errors.ts";
import { type Logger, silentLogger } from "../../lib/log/logger.ts";
import type { Database } from "../../store/postgres/database.ts";
import { KeptConnection } from "../../store/postgres/kept-connection.ts";
import { TokenRows, tokensChanged } from "../../store/postgres/token-rows.ts";
import { type MadeToken, madeToken, type NewToken, newSecret } from "./new-token.ts";
import { TokenFinder } from "./token-finder.ts";
import { maxTokens, type TokenRecord, tokenSchema } from "./token-record.ts";
import { type TokenStorage, tokenExists, tokenUnknown } from "./token-storage.ts";

/**
 * How long a removed token may still work on another gateway. Normally it stops at once: the database tells every gateway.
 * `checkMs`: the notification was lost. `outageMs`: this gateway cannot reach the database at all; then nobody gets in.
 */
const ages = { checkMs: 5_000, outageMs: 60_000 };
/** After a failed check, requests are not held up by another one for so long. */
const retryMs = 2_000;

export interface PostgresTokensOptions {
  readonly logger?: Logger;
  /** whether to listen for changes; a command that ends soon need not. Default: true */
  readonly listens?: boolean;
  /** @internal */
  readonly ages?: typeof ages;
  /** @internal milliseconds of a clock that does not jump */
  readonly now?: () => number;
}

/** The tokens of a service in PostgreSQL. They are kept in memory, because every request is checked. */
export class PostgresTokens implements TokenStorage, AsyncDisposable {
  readonly isShared = true;
  readonly #rows: TokenRows;
  readonly #logger: Logger;
  readonly #ages: typeof ages;
  readonly #now: () => number;
  readonly #finder = new TokenFinder();
  #connection: KeptConnection | undefined;
  #records: readonly TokenRecord[] = [];
  #version: string | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #failedAt = Number.NEGATIVE_INFINITY;
  #isOutdated = false;
  #checking: Promise<readonly TokenRecord[]> | undefined;

  private constructor(database: Database, options: PostgresTokensOptions) {
    this.#rows = new TokenRows(database);
    this.#logger = options.logger ?? silentLogger;
    this.#ages = options.ages ?? ages;
    this.#now = options.now ?? (() => performance.now());
  }

  static async open(database: Database, options: PostgresTokensOptions = {}): Promise<PostgresTokens> {
    const tokens = new PostgresTokens(database, options);
    const outdated = () => {
      tokens.#isOutdated = true;
    };
    if (options.listens !== false) {
      tokens.#connection = await KeptConnection.open(database, {
        setUp: async (client) => {
          await client.query(`listen ${tokensChanged}`);
        },
        ...{ onNotification: outdated, onBack: outdated, logger: tokens.#logger },
      });
    }
    try {
      await tokens.all();
    } catch (error) {
      await tokens[Symbol.asyncDispose]();
      throw error;
    }
    return tokens;
  }

  get current(): readonly TokenRecord[] {
    return this.#records;
  }

  async all(): Promise<readonly TokenRecord[]> {
    const now = this.#now();
    const isFresh = !this.#isOutdated && now - this.#checkedAt < this.#ages.checkMs;
    if (isFresh) return this.#records;
    const isTolerated = now - this.#checkedAt < this.#ages.outageMs;
    if (isTolerated && now - this.#failedAt < retryMs) return this.#records;
    try {
      this.#checking ??= this.#check().finally(() => {
        this.#checking = undefined;
      });
      return await this.#checking;
    } catch (error) {
      this.#failedAt = this.#now();
      // Fail closed: a token that was removed meanwhile must not work for ever.
      if (!isTolerated) throw error;
      this.#logger.warn("the tokens cannot be checked; those that were known are accepted for a while", {
        error: messageOf(error),
      });
      return this.#records;
    }
  }

  async find(header: string | undefined, nowMs: number): Promise<TokenRecord | undefined> {
    return this.#finder.find(await this.all(), header, nowMs);
  }

  async create(token: NewToken, nowMs: number): Promise<MadeToken> {
    const made = madeToken(token, nowMs);
    const { name, sha256 } = made.record;
    const outcome = await this.#rows.add({ name, sha256, record: JSON.stringify(made.record) }, maxTokens);
    this.#isOutdated = true;
    if (outcome === "exists") throw tokenExists(name);
    if (outcome === "full") throw new CodecellError("usage", `there are ${maxTokens} tokens, which is the limit`);
    return made;
  }

  async rotate(name: string): Promise<MadeToken> {
    const { token, sha256 } = newSecret();
    let record: TokenRecord | undefined;
    await this.#rows.replace(name, sha256, (text) => {
      record = { ...tokenSchema.parse(JSON.parse(text)), sha256 };
      return JSON.stringify(record);
    });
    this.#isOutdated = true;
    if (!record) throw tokenUnknown(name);
    return { token, record };
  }

  async remove(name: string): Promise<void> {
    const isRemoved = await this.#rows.remove(name);
    this.#isOutdated = true;
    if (!isRemoved) throw tokenUnknown(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection?.[Symbol.asyncDispose]();
  }

  /** Reads the tokens if their version is another one. A change during the check is seen by the next check. */
  async #check(): Promise<readonly TokenRecord[]> {
    const begunAt = this.#now();
    this.#isOutdated = false;
    try {
      const version = await this.#rows.version();
      if (version !== this.#version) {
        const rows = await this.#rows.list(maxTokens);
        this.#records = rows.flatMap((row) => this.#parsed(row.record, row.name, row.sha256));
        this.#version = version;
      }
      this.#checkedAt = begunAt;
      return this.#records;
    } catch (error) {
      this.#isOutdated = true;
      throw error;
    }
  }

  /** A record that cannot be read, or that is not what its columns say, is no token. */
  #parsed(text: string, name: string, sha256: string): TokenRecord[] {
    const record = tokenSchema.safeParse(JSON.parse(text)).data;
    if (record && record.name === name && record.sha256 === sha256) return [record];
    this.#logger.warn("a token in the database cannot be read", { name });
    return [];
  }
}
