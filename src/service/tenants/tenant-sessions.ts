import { setImmediate } from "node:timers/promises";
import { CodecellError } from "../../lib/errors.ts";
import type { IsolationLevel } from "../../policy/isolation.ts";
import type { Policy } from "../../policy/schema.ts";
import type { Codecell } from "../../sessions/codecell.ts";
import type { Session, SessionInfo } from "../../sessions/session.ts";
import { newSessionId, sessionKey, shownId } from "../../sessions/session-id.ts";

/** Sessions by id, as a surface uses them: all of a `Codecell`, or those of one tenant. */
export type Sessions = Pick<
  Codecell,
  "policy" | "runner" | "isolation" | "session" | "get" | "info" | "list" | "fork"
> &
  Pick<Codecell, "closeSession"> &
  AsyncDisposable;

/**
 * The sessions of one tenant. Every id gets the tenant's prefix before it is looked up, so an id of another tenant names
 * nothing: neither answers nor their timing reveal that it exists.
 */
export class TenantSessions implements Sessions {
  readonly #manager: Codecell;
  readonly #namespace: string;
  readonly #quota: number;
  /** ids that are being created, so that concurrent calls cannot exceed the quota together */
  readonly #coming = new Set<string>();

  constructor(manager: Codecell, namespace: string, quota: number) {
    this.#manager = manager;
    this.#namespace = namespace;
    this.#quota = quota;
  }

  get policy(): Policy {
    return this.#manager.policy;
  }

  get runner(): string {
    return this.#manager.runner;
  }

  get isolation(): IsolationLevel {
    return this.#manager.isolation;
  }

  async session(id: string = newSessionId(), options: { waitMs?: number } = {}): Promise<Session> {
    const key = this.#key(id);
    return this.#own(() => this.#within(key, () => this.#manager.session(key, options)));
  }

  async get(id: string): Promise<Session> {
    const key = this.#key(id);
    return this.#own(() => this.#manager.get(key));
  }

  async info(id: string): Promise<SessionInfo> {
    const key = this.#key(id);
    return this.#own(async () => shown(await this.#manager.info(key)));
  }

  async list(): Promise<SessionInfo[]> {
    return (await this.#manager.list({ prefix: this.#prefix })).map(shown);
  }

  async fork(id: string, newId: string = newSessionId()): Promise<Session> {
    const key = this.#key(id);
    const forkKey = this.#key(newId);
    return this.#own(async () => {
      await this.#manager.info(key); // an unknown parent is reported before a full quota
      return this.#within(forkKey, () => this.#manager.fork(key, forkKey));
    });
  }

  async closeSession(id: string, options: { forget?: boolean } = {}): Promise<void> {
    const key = this.#key(id);
    return this.#own(() => this.#manager.closeSession(key, options));
  }

  /** The `Codecell` has other tenants, so its owner closes it. */
  async [Symbol.asyncDispose](): Promise<void> {}

  get #prefix(): string {
    return `${this.#namespace}.`;
  }

  #key(id: string): string {
    return sessionKey(this.#namespace, id);
  }

  /** Creates a session if the quota allows it. Saved sessions count: they take space until they are deleted. */
  async #within<T>(key: string, make: () => Promise<T>): Promise<T> {
    const saved = (await this.#manager.list({ prefix: this.#prefix })).map(({ id }) => id);
    // From here to `add` nothing else runs, and both sets are as they are now.
    const alive = this.#manager.aliveIds().filter((id) => id.startsWith(this.#prefix));
    const all = new Set([...saved, ...alive, ...this.#coming]);
    if (!all.has(key) && all.size >= this.#quota) {
      throw new CodecellError("session_limit", `this token has ${all.size} sessions, which is its limit`, {
        hint: "close one; delete it if sessions are persistent",
      });
    }
    this.#coming.add(key);
    try {
      return await make();
    } finally {
      void setImmediate().then(() => this.#coming.delete(key));
    }
  }

  /** Errors name internal keys; a tenant knows only its own ids. */
  async #own<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof CodecellError) || !`${error.message}${error.hint}`.includes(this.#prefix)) throw error;
      const { code, message, hint, cause, details } = error;
      const text = (one: string) => one.replaceAll(this.#prefix, "");
      throw new CodecellError(code, text(message), {
        cause,
        details,
        ...(hint === undefined ? {} : { hint: text(hint) }),
      });
    }
  }
}

function shown(info: SessionInfo): SessionInfo {
  return { ...info, id: shownId(info.id) };
}
