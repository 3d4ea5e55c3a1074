/** Network limits of one session, from its policy. */
export interface EgressQuota {
  /** open connections; the OS buffers several megabytes for each */
  readonly connections: number;
  /** requests and tunnels per second, on average */
  readonly requests: number;
  /** total bytes that may be sent and received */
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

/** Timeouts of the proxy, for programs that embed codecell. A policy cannot set them. */
export interface EgressTimes {
  /** time for a request's head, for the TLS hello, and to reach the server */
  readonly headMs: number;
  readonly helloMs: number;
  readonly connectMs: number;
  /** idle timeout of a connection; shorter once one side has ended */
  readonly idleMs: number;
  readonly halfClosedMs: number;
}

export type EgressLimits = EgressQuota & EgressTimes;

/** Size of a burst, in multiples of the rate per second. */
export const burstSeconds = 4;

const gib = 1024 ** 3;

/** The defaults of a policy. */
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

/** The quotas among the rules. */
export function quotaOf(rules: Partial<EgressQuota>): EgressQuota {
  const { connections, requests, sentBytes, receivedBytes } = { ...defaultQuota, ...rules };
  return { connections, requests, sentBytes, receivedBytes };
}
