import type { Audit } from "./audit.ts";
import type { AuditEvent } from "./event.ts";
import { AuditLog, type AuditLogOptions } from "./log.ts";

/** A session of a tenant is called `NAMESPACE.ID`. The service sets the namespace, so no caller can choose it. */
const tenantSession = /^(ns-[0-9a-f]{12})\./;

/** A tenant has a queue of its own in memory, so it is smaller than that of a process. */
const maxQueuedBytes = 2 * 1024 * 1024;
/** From this number of open chains on, those that were not used for a while are closed. */
const manyOpen = 64;
const idleMs = 60_000;

interface OpenLog {
  readonly log: AuditLog;
  usedMs: number;
}

/**
 * The audit of a process that serves several tenants: each tenant has chains of its own, and so a queue and an `audit.keep`
 * of its own. The attack: one tenant runs so much that the history of the others is removed.
 */
export class TenantLogs implements Audit {
  readonly isDurable: boolean;
  readonly #options: AuditLogOptions;
  readonly #shared: AuditLog;
  readonly #tenants = new Map<string, OpenLog>();
  readonly #closing = new Set<Promise<void>>();

  constructor(options: AuditLogOptions) {
    this.#options = options;
    this.isDurable = options.durable;
    this.#shared = new AuditLog(options);
  }

  follows(rules: Parameters<AuditLog["follows"]>[0]): boolean {
    return this.#shared.follows(rules);
  }

  record(event: AuditEvent): void {
    this.#logOf("session" in event ? event.session : undefined).record(event);
  }

  recordLater(events: Promise<readonly AuditEvent[]>, session?: string): void {
    this.#logOf(session).recordLater(events);
  }

  async settled(session?: string): Promise<void> {
    if (session !== undefined) return this.#logOf(session).settled();
    await Promise.all([this.#shared, ...this.#openLogs].map((log) => log.settled()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const logs = [...this.#openLogs, this.#shared];
    await Promise.all([...logs.map((log) => log[Symbol.asyncDispose]()), ...this.#closing]);
  }

  get #openLogs(): AuditLog[] {
    return [...this.#tenants.values()].map(({ log }) => log);
  }

  #logOf(session: string | undefined): AuditLog {
    const namespace = tenantSession.exec(session ?? "")?.[1];
    if (namespace === undefined) return this.#shared;
    const now = (this.#options.now ?? Date.now)();
    const open = this.#tenants.get(namespace) ?? this.#open(namespace, now);
    open.usedMs = now;
    return open.log;
  }

  #open(namespace: string, now: number): OpenLog {
    if (this.#tenants.size >= manyOpen) this.#closeIdle(now);
    const open = { log: new AuditLog({ maxQueuedBytes, ...this.#options, namespace }), usedMs: now };
    this.#tenants.set(namespace, open);
    return open;
  }

  /** Each open chain costs three descriptors. */
  #closeIdle(now: number): void {
    for (const [namespace, { log, usedMs }] of this.#tenants) {
      if (now - usedMs < idleMs) continue;
      this.#tenants.delete(namespace);
      const closed: Promise<void> = log[Symbol.asyncDispose]().finally(() => this.#closing.delete(closed));
      this.#closing.add(closed);
    }
  }
}
