/** A gateway in the list that all gateways share. */
export interface GatewayRow {
  readonly id: string;
  /** how the other gateways reach it */
  readonly url: string;
  /** by the clock of the directory */
  readonly startedMs: number;
  readonly renewedUntilMs: number;
  readonly isAlive: boolean;
  /** open sessions that it owns */
  readonly sessions: number;
}

/** A lease, as the directory granted it. */
export interface LeaseGrant {
  /** the directory's clock: a gateway's own clock may be wrong */
  readonly nowMs: number;
  /** the other gateways that are alive */
  readonly peers: readonly Pick<GatewayRow, "id" | "url">[];
}

/** Who has a session, and what is saved of it. */
export interface SessionPlace {
  /** undefined: nobody has it open */
  readonly owner: GatewayOfSession | undefined;
  /** whether there is a record, so that another gateway can continue it */
  readonly isSaved: boolean;
}

export interface GatewayOfSession {
  readonly id: string;
  /** undefined: the gateway left the list */
  readonly url: string | undefined;
  readonly isAlive: boolean;
  /** when its lease ended or ends, by the clock of the directory; undefined: it left the list */
  readonly renewedUntilMs: number | undefined;
}

/** One session of the list that every gateway shows. */
export interface ListedSession extends SessionPlace {
  readonly key: string;
}

/** A request that is about to start a run, with an idempotency key. */
export interface RunKeyClaim {
  /** the gateway that has the session */
  readonly gateway: string;
  /** full id of the session */
  readonly sessionKey: string;
  /** of the tenant: keys of different tenants have nothing to do with each other */
  readonly namespace: string;
  /** sha256 of the key */
  readonly key: string;
  /** digest of the request */
  readonly request: string;
}

/** A key that some gateway has claimed before. */
export interface KnownRunKey {
  /** digest of the request that came with it */
  readonly request: string;
  readonly gateway: string;
  /** by the clock of the directory */
  readonly startedMs: number;
}

/**
 * What several gateways share: which of them are alive, and which owns a session. All times are those of the directory. It is a
 * database; tests have one in memory.
 */
export interface GatewayDirectory {
  /** Adds a gateway, or gives one whose lease is over a new lease. */
  join(gateway: { readonly id: string; readonly url: string; readonly leaseMs: number }): Promise<LeaseGrant>;
  /** Extends a lease. Undefined: the lease is over, and cannot be extended: others may have taken the sessions. */
  renew(id: string, leaseMs: number): Promise<LeaseGrant | undefined>;
  /** Ends a lease, so that nobody waits for it. */
  leave(id: string): Promise<void>;
  list(): Promise<GatewayRow[]>;
  /** The address of a gateway that is alive. */
  urlOf(id: string): Promise<string | undefined>;
  /** Undefined: there is no such session, open or saved. */
  find(sessionKey: string): Promise<SessionPlace | undefined>;
  /** The sessions whose key starts with `prefix`. */
  sessions(prefix: string): Promise<ListedSession[]>;
  /** The sessions that a gateway has. Others may have taken some while it had no lease. */
  owned(id: string): Promise<readonly string[]>;
  /** Claims a key before its run starts, for 15 minutes. `not_owner`: the gateway does not have the session any more. */
  claimRunKey(claim: RunKeyClaim): Promise<"claimed" | "not_owner" | KnownRunKey>;
  /** Gives a claimed key back, because no run was started for it. */
  releaseRunKey(claim: RunKeyClaim): Promise<void>;
  /** A random key that all gateways share; made by the first that asks for it. */
  sharedKey(name: string): Promise<Uint8Array>;
}
