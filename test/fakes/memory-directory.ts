import { randomBytes } from "node:crypto";
import type {
  GatewayDirectory,
  GatewayRow,
  KnownRunKey,
  LeaseGrant,
  ListedSession,
  RunKeyClaim,
  SessionPlace,
} from "../../src/store/gateway-directory.ts";

interface Lease {
  readonly url: string;
  readonly startedMs: number;
  untilMs: number;
}

/** The directory of gateways in memory, with a clock that the test moves. */
export class MemoryDirectory implements GatewayDirectory {
  nowMs = 1_800_000_000_000;
  /** set: every call fails with it, as when the database is gone */
  failure: Error | undefined;
  readonly leases = new Map<string, Lease>();
  readonly owners = new Map<string, { owner: string | undefined; isSaved: boolean }>();
  readonly runKeys = new Map<string, KnownRunKey>();
  readonly #keys = new Map<string, Uint8Array>();

  async join({ id, url, leaseMs }: { id: string; url: string; leaseMs: number }): Promise<LeaseGrant> {
    this.#check();
    this.leases.set(id, { url, startedMs: this.nowMs, untilMs: this.nowMs + leaseMs });
    return this.#grant(id);
  }

  async renew(id: string, leaseMs: number): Promise<LeaseGrant | undefined> {
    this.#check();
    const lease = this.leases.get(id);
    if (!lease || lease.untilMs <= this.nowMs) return undefined;
    lease.untilMs = this.nowMs + leaseMs;
    return this.#grant(id);
  }

  async leave(id: string): Promise<void> {
    this.#check();
    this.leases.delete(id);
  }

  async list(): Promise<GatewayRow[]> {
    this.#check();
    return [...this.leases].map(([id, { url, startedMs, untilMs }]) => ({
      ...{ id, url, startedMs, renewedUntilMs: untilMs, isAlive: this.#isAlive(id) },
      sessions: [...this.owners.values()].filter(({ owner }) => owner === id).length,
    }));
  }

  async urlOf(id: string): Promise<string | undefined> {
    this.#check();
    return this.#isAlive(id) ? this.leases.get(id)?.url : undefined;
  }

  async find(key: string): Promise<SessionPlace | undefined> {
    this.#check();
    const session = this.owners.get(key);
    return session && this.#place(session);
  }

  async sessions(prefix: string): Promise<ListedSession[]> {
    this.#check();
    const found = [...this.owners].filter(([key]) => key.startsWith(prefix));
    return found.map(([key, session]) => ({ key, ...this.#place(session) }));
  }

  async owned(id: string): Promise<readonly string[]> {
    this.#check();
    return [...this.owners].filter(([, { owner }]) => owner === id).map(([key]) => key);
  }

  async claimRunKey({ sessionKey, gateway, namespace, key, request }: RunKeyClaim) {
    this.#check();
    const known = this.runKeys.get(`${namespace} ${key}`);
    if (known) return known;
    if (this.owners.get(sessionKey)?.owner !== gateway) return "not_owner";
    this.runKeys.set(`${namespace} ${key}`, { request, gateway, startedMs: this.nowMs });
    return "claimed";
  }

  async releaseRunKey({ namespace, key }: RunKeyClaim): Promise<void> {
    this.#check();
    this.runKeys.delete(`${namespace} ${key}`);
  }

  async sharedKey(name: string): Promise<Uint8Array> {
    this.#check();
    const key = this.#keys.get(name) ?? randomBytes(32);
    this.#keys.set(name, key);
    return key;
  }

  #place({ owner, isSaved }: { owner: string | undefined; isSaved: boolean }): SessionPlace {
    if (owner === undefined) return { owner: undefined, isSaved };
    const lease = this.leases.get(owner);
    return {
      owner: { id: owner, url: lease?.url, isAlive: this.#isAlive(owner), renewedUntilMs: lease?.untilMs },
      isSaved,
    };
  }

  #isAlive(id: string): boolean {
    return (this.leases.get(id)?.untilMs ?? 0) > this.nowMs;
  }

  #grant(id: string): LeaseGrant {
    const peers = [...this.leases].filter(([other]) => other !== id && this.#isAlive(other));
    return { nowMs: this.nowMs, peers: peers.map(([other, { url }]) => ({ id: other, url })) };
  }

  #check(): void {
    if (this.failure) throw this.failure;
  }
}
