import { type Logger, silentLogger } from "../../lib/log/logger.ts";
import { sessionKey } from "../../sessions/session-id.ts";
import { Tenant, type TenantParts } from "./tenant.ts";
import { isExpired, type TokenRecord } from "./token-record.ts";

export type TenantDefaults = Omit<TenantParts, "namespace" | "quota"> & {
  /** limit of sessions per tenant, even if its token allows more */
  readonly maxSessions: number;
  readonly logger?: Logger;
};

/** Tenants by namespace, from their first request until their token is removed or expires. */
export class Tenants implements AsyncDisposable {
  readonly #defaults: TenantDefaults;
  readonly #tenants = new Map<string, Tenant>();
  #known: readonly TokenRecord[] = [];
  #nextExpiryMs = Number.POSITIVE_INFINITY;

  constructor(defaults: TenantDefaults) {
    this.#defaults = defaults;
  }

  get size(): number {
    return this.#tenants.size;
  }

  /** Those that have sent a request. */
  get all(): readonly Tenant[] {
    return [...this.#tenants.values()];
  }

  /** The tenant with this namespace, if it has sent a request. */
  find(namespace: string): Tenant | undefined {
    return this.#tenants.get(namespace);
  }

  of({ namespace, sessions: quota }: TokenRecord): Tenant {
    const known = this.#tenants.get(namespace);
    if (known) return known;
    const { maxSessions, ...rest } = this.#defaults;
    const tenant = new Tenant({ ...rest, namespace, quota: Math.min(quota, maxSessions) });
    this.#tenants.set(namespace, tenant);
    return tenant;
  }

  /** Stops the runs of tenants whose token was removed or has expired, so that no program runs on for days. */
  keepOnly(tokens: readonly TokenRecord[], nowMs: number): void {
    if (tokens === this.#known && nowMs < this.#nextExpiryMs) return;
    this.#known = tokens;
    const valid = tokens.filter((token) => !isExpired(token, nowMs));
    this.#nextExpiryMs = Math.min(...valid.map(({ expiresMs = Number.POSITIVE_INFINITY }) => expiresMs));
    for (const { namespace, sha256 } of valid) this.#tenants.get(namespace)?.requests.endOthers(sha256);
    const namespaces = new Set(valid.map(({ namespace }) => namespace));
    const { logger = silentLogger } = this.#defaults;
    for (const [namespace, tenant] of this.#tenants) {
      if (namespaces.has(namespace)) continue;
      this.#tenants.delete(namespace);
      void this.#end(tenant).catch((error: unknown) => logger.warn("a tenant could not be closed", { error }));
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
      if (state === "live") await this.#defaults.codecell.closeSession(sessionKey(tenant.namespace, id));
    }
  }
}
