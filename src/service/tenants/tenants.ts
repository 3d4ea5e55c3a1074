import type { Logger } from "../../lib/log/logger.ts";
import type { Codecell } from "../../sessions/codecell.ts";
import { sessionKey } from "../../sessions/session-id.ts";
import { Tenant, type TenantParts } from "./tenant.ts";
import { isOver, type TokenRecord } from "./token-store.ts";

export type TenantDefaults = Omit<TenantParts, "namespace" | "quota"> & {
  /** sessions of a tenant, whatever its token says */
  readonly maxSessions: number;
};

/** Tenants by namespace, from their first request until their token is removed. */
export class Tenants implements AsyncDisposable {
  readonly #defaults: TenantDefaults;
  readonly #manager: Codecell;
  readonly #logger: Logger;
  readonly #tenants = new Map<string, Tenant>();
  #known: readonly TokenRecord[] = [];
  #nextExpiryMs = Number.POSITIVE_INFINITY;

  constructor(defaults: TenantDefaults) {
    this.#defaults = defaults;
    this.#manager = defaults.manager;
    this.#logger = defaults.logger;
  }

  get size(): number {
    return this.#tenants.size;
  }

  of({ namespace, sessions: quota }: TokenRecord): Tenant {
    const known = this.#tenants.get(namespace);
    if (known) return known;
    const { maxSessions, ...rest } = this.#defaults;
    const tenant = new Tenant({ ...rest, namespace, quota: Math.min(quota, maxSessions) });
    this.#tenants.set(namespace, tenant);
    return tenant;
  }

  /** Whose token was removed, or is over, loses what runs: it must not leave a program behind that goes on for days. */
  keepOnly(tokens: readonly TokenRecord[], nowMs: number): void {
    if (tokens === this.#known && nowMs < this.#nextExpiryMs) return;
    this.#known = tokens;
    const valid = tokens.filter((token) => !isOver(token, nowMs));
    this.#nextExpiryMs = Math.min(...valid.map(({ expiresMs = Number.POSITIVE_INFINITY }) => expiresMs));
    for (const { namespace, sha256 } of valid) this.#tenants.get(namespace)?.endOthers(sha256);
    const namespaces = new Set(valid.map(({ namespace }) => namespace));
    for (const [namespace, tenant] of this.#tenants) {
      if (namespaces.has(namespace)) continue;
      this.#tenants.delete(namespace);
      void this.#end(tenant).catch((error: unknown) => this.#logger.warn("a tenant could not be ended", { error }));
    }
  }

  async settled(): Promise<void> {
    await Promise.all([...this.#tenants.values()].map((tenant) => tenant.settled()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled([...this.#tenants.values()].map((tenant) => tenant[Symbol.asyncDispose]()));
  }

  async #end(tenant: Tenant): Promise<void> {
    await tenant[Symbol.asyncDispose]();
    for (const { id, state } of await tenant.sessions.list()) {
      if (state === "live") await this.#manager.close(sessionKey(tenant.namespace, id));
    }
  }
}
