/** How much one session's network may use; its policy says so. */
export interface EgressQuota {
  /** connections at once: the OS's own buffers take several megabytes for each */
  readonly connections: number;
  /** requests and tunnels per second in the long run */
  readonly requests: number;
  /** what may be sent and received in all */
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

/** How long the proxy waits; for programs that embed codecell, and no policy's. */
export interface EgressTimes {
  /** time for a request's head, for the TLS hello, and to reach the server */
  readonly headMs: number;
  readonly helloMs: number;
  readonly connectMs: number;
  /** a connection on which nothing moves; shorter once one side has ended */
  readonly idleMs: number;
  readonly halfClosedMs: number;
}

export type EgressLimits = EgressQuota & EgressTimes;

/** How many times the rate of a second may come at once. */
export const burstSeconds = 4;

const gib = 1024 ** 3;

/** As in a policy that says nothing about them. */
export const defaultQuota: EgressQuota = {
  connections: 64,
  requests: 50,
  sentBytes: 4 * gib,
  receivedBytes: 64 * gib,
};

export const defaultTimes: EgressTimes = {
  headMs: 15_000,
  helloMs: 10_000,
  connectMs: 15_000,
  idleMs: 120_000,
  halfClosedMs: 30_000,
};

/** What of rules is a quota. */
export function quotaOf(rules: Partial<EgressQuota>): EgressQuota {
  const { connections, requests, sentBytes, receivedBytes } = { ...defaultQuota, ...rules };
  return { connections, requests, sentBytes, receivedBytes };
}
