import { type AcquiredSession, type AcquireOptions, acquireSession, ownerIsAlive } from "./acquire-session.ts";
import type { Database } from "./database.ts";
import { tellGateways } from "./session-news.ts";

/** Who may write a session. Every write carries it, and is refused once the session has another one. */
export interface Ownership extends AcquiredSession {
  readonly owner: string;
}

/** Decides which process has a session, and notices when that process is gone. */
export interface SessionOwners extends AsyncDisposable {
  /** Takes a session; undefined: a process that is alive has it. */
  acquire(id: string, options?: AcquireOptions): Promise<Ownership | undefined>;
  /** Gives it back. A session that was never saved is gone then. */
  release(id: string, ownership: Ownership): Promise<void>;
  /** Whether a process that is alive has it. */
  isOwned(id: string): Promise<boolean>;
}

/** The sessions of one owner in the database. What shows that the owner is alive is up to the caller. */
export class OwnedSessions {
  readonly #database: Database;
  readonly #owner: string;
  /** sessions that this owner has, or is taking; what else names it as owner could not be given back */
  readonly #held = new Set<string>();

  constructor(database: Database, owner: string) {
    this.#database = database;
    this.#owner = owner;
  }

  async acquire(id: string, options?: AcquireOptions): Promise<Ownership | undefined> {
    if (this.#held.has(id)) return undefined;
    this.#held.add(id);
    let taken: Ownership | undefined;
    try {
      const acquired = await acquireSession(this.#database, id, this.#owner, options);
      taken = acquired && { owner: this.#owner, ...acquired };
      return taken;
    } finally {
      if (!taken) this.#held.delete(id);
    }
  }

  async release(id: string, ownership: Ownership): Promise<void> {
    this.#held.delete(id);
    await releaseOwnership(this.#database, id, ownership);
  }

  async isOwned(id: string): Promise<boolean> {
    const rows = await this.#database.query(
      `select 1 from codecell.sessions where id = $1 and owner is not null and ${ownerIsAlive}`,
      [id],
    );
    return rows.length > 0;
  }
}

/** Gives a session back, unless somebody else has taken it. One that was never saved is removed. */
async function releaseOwnership(database: Database, id: string, { owner, epoch }: Ownership): Promise<void> {
  const key = [id, owner, epoch];
  const mine = "id = $1 and owner = $2 and epoch = $3";
  const told = `returning ${tellGateways("$1", "$2")}`;
  await database.query(`delete from codecell.sessions where ${mine} and record is null ${told}`, key);
  await database.query(`update codecell.sessions set owner = null where ${mine} ${told}`, key);
}
