import { setImmediate } from "node:timers/promises";
import { CodecellError } from "../../lib/errors.ts";
import type { IsolationLevel } from "../../policy/isolation.ts";
import type { Policy } from "../../policy/schema.ts";
import type { Codecell } from "../../sessions/codecell.ts";
import type { Session } from "../../sessions/session.ts";
import { newSessionId, sessionKey, shownId } from "../../sessions/session-id.ts";
import type { SessionInfo } from "../../sessions/session-info.ts";

/** Sessions by id: all sessions of a `Codecell`, or those of one tenant. */
export type Sessions = Pick<
  Codecell,
  "policy" | "runner" | "isolation" | "session" | "get" | "info" | "list" | "fork"
> &
  Pick<Codecell, "closeSession"> &
  AsyncDisposable;

/**
 * The sessions of one tenant. Every id gets the tenant's prefix before it is looked up, so ids of other tenants are never
 * found: neither results nor their timing reveal that they exist.
 */
export class TenantSessions implements Sessions {
  readonly #manager: Codecell;
  readonly #namespace: string;
  readonly #quota: number;
  /** ids that are being created, so that concurrent calls cannot exceed the quota together */
  readonly #creating = new Set<string>();

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
    return this.#withoutPrefix(() =>
      this.#withinQuota(key, () => this.#manager.session(key, { ...options, quota: this.#quota })),
    );
  }

  async get(id: string): Promise<Session> {
    const key = this.#key(id);
    return this.#withoutPrefix(() => this.#manager.get(key));
  }

  async info(id: string): Promise<SessionInfo> {
    const key = this.#key(id);
    return this.#withoutPrefix(async () => shown(await this.#manager.info(key)));
  }

  async list(): Promise<SessionInfo[]> {
    return (await this.#manager.list({ prefix: this.#prefix })).map(shown);
  }

  async fork(id: string, newId: string = newSessionId()): Promise<Session> {
    const key = this.#key(id);
    const forkKey = this.#key(newId);
    return this.#withoutPrefix(async () => {
      await this.#manager.info(key); // an unknown parent is reported before a full quota
      return this.#withinQuota(forkKey, () => this.#manager.forkWithin(this.#quota, key, forkKey));
    });
  }

  async closeSession(id: string, options: { forget?: boolean } = {}): Promise<void> {
    const key = this.#key(id);
    return this.#withoutPrefix(() => this.#manager.closeSession(key, options));
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
  async #withinQuota<T>(key: string, make: () => Promise<T>): Promise<T> {
    const saved = (await this.#manager.list({ prefix: this.#prefix })).map(({ id }) => id);
    // No `await` from here to `add`: otherwise concurrent calls could exceed the quota.
    const alive = this.#manager.aliveIds().filter((id) => id.startsWith(this.#prefix));
    const all = new Set([...saved, ...alive, ...this.#creating]);
    if (!all.has(key) && all.size >= this.#quota) {
      throw new CodecellError("session_limit", `this token has ${all.size} sessions, which is its limit`, {
        hint: "close one; delete it if sessions are persistent",
      });
    }
    this.#creating.add(key);
    try {
      return await make();
    } finally {
      void setImmediate().then(() => this.#creating.delete(key));
    }
  }

  /** Removes the prefix from error messages, because tenants know only their own ids. */
  async #withoutPrefix<T>(work: () => Promise<T>): Promise<T> {
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
