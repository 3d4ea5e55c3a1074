/** How much one session's network may use. */
export interface EgressLimits {
  /** connections at once: the kernel's own buffers take several megabytes for each */
  readonly connections: number;
  /** requests and tunnels per second, in the long run and at once */
  readonly requestsPerSecond: number;
  readonly burst: number;
  /** what the session may send and receive in all */
  readonly sentBytes: number;
  readonly receivedBytes: number;
  /** time for a request's head, for the TLS hello, and to reach the server */
  readonly headMs: number;
  readonly helloMs: number;
  readonly connectMs: number;
  /** a connection on which nothing moves; shorter once one side has ended */
  readonly idleMs: number;
  readonly halfClosedMs: number;
}

const gib = 1024 ** 3;

export const defaultLimits: EgressLimits = {
  connections: 64,
  requestsPerSecond: 50,
  burst: 200,
  sentBytes: 4 * gib,
  receivedBytes: 64 * gib,
  headMs: 15_000,
  helloMs: 10_000,
  connectMs: 15_000,
  idleMs: 120_000,
  halfClosedMs: 30_000,
};
