import type { AcquireOptions } from "./acquire-session.ts";
import type { Database } from "./database.ts";
import { OwnedSessions, type Ownership, type SessionOwners } from "./session-owner.ts";

/** The lease of a gateway, as far as its sessions have to do with it. */
export interface OwnLease {
  readonly id: string;
  /** Throws if there is no lease now. */
  assertHeld(): void;
}

/** Owners that are gateways. A gateway whose lease is over has lost its sessions to whoever asks for them. */
export class GatewayOwners implements SessionOwners {
  readonly #lease: OwnLease;
  readonly #owned: OwnedSessions;

  constructor(database: Database, lease: OwnLease) {
    this.#lease = lease;
    this.#owned = new OwnedSessions(database, lease.id);
  }

  async acquire(id: string, options?: AcquireOptions): Promise<Ownership | undefined> {
    this.#lease.assertHeld();
    return this.#owned.acquire(id, options);
  }

  release(id: string, ownership: Ownership): Promise<void> {
    return this.#owned.release(id, ownership);
  }

  isOwned(id: string): Promise<boolean> {
    return this.#owned.isOwned(id);
  }

  /** The lease ends after its sessions, with the gateway. */
  async [Symbol.asyncDispose](): Promise<void> {}
}
