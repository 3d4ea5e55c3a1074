/** Limits on what callers may use. */
export interface HttpLimits {
  /** open requests, including streams and requests that wait */
  readonly requests: number;
  readonly requestsPerToken: number;
  /** concurrent runs */
  readonly runs: number;
  readonly runsPerToken: number;
  /** limit of sessions per token, even if its own quota is higher */
  readonly sessionsPerToken: number;
  readonly connections: number;
  /** of a JSON body; uploads are limited by the policy's `proc.disk` */
  readonly jsonBytes: number;
  readonly headerBytes: number;
  /** how long the headers may take to arrive; slower clients are disconnected */
  readonly headersMs: number;
  /** how long a whole request may take to arrive */
  readonly requestMs: number;
  /** how long a large body may wait for memory, before it is refused */
  readonly bodyWaitMs: number;
  /** how long a client may stop reading its response */
  readonly stallMs: number;
  /** how often a silent stream sends a heartbeat */
  readonly heartbeatMs: number;
}

/** The default limits of a service. */
export const defaultLimits: HttpLimits = {
  requests: 512,
  requestsPerToken: 128,
  runs: 64,
  runsPerToken: 16,
  sessionsPerToken: 10_000,
  connections: 1_024,
  jsonBytes: 16 * 1024 * 1024,
  headerBytes: 16 * 1024,
  headersMs: 10_000,
  requestMs: 300_000,
  bodyWaitMs: 30_000,
  stallMs: 60_000,
  heartbeatMs: 15_000,
};
