/** What a caller may take of the service. */
export interface HttpLimits {
  /** requests that are being answered, waiting ones and streams included */
  readonly requests: number;
  readonly requestsPerToken: number;
  /** runs that go on */
  readonly runs: number;
  readonly runsPerToken: number;
  /** sessions of a token, whatever its own quota says */
  readonly sessionsPerToken: number;
  readonly connections: number;
  /** of a body that is JSON; uploads have the policy's `proc.disk` */
  readonly jsonBytes: number;
  readonly headerBytes: number;
  /** how long the headers may take to arrive: what sends them byte by byte is cut off */
  readonly headersMs: number;
  /** how long a whole request may take to arrive */
  readonly requestMs: number;
  /** how long a reader may take nothing of an answer that waits for it */
  readonly stallMs: number;
  /** how often a silent stream says that it is alive */
  readonly heartbeatMs: number;
}

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
  stallMs: 60_000,
  heartbeatMs: 15_000,
};
