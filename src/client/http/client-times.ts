/** How long the client waits for what. */
export interface ClientTimes {
  /** a service sends a sign of life every 15 seconds; after this time without one the connection is lost */
  readonly idleMs: number;
  /** for the beginning of a response with events: a start may wait a minute for its turn */
  readonly headersMs: number;
  /** between two attempts of a queued run to get its turn */
  readonly queuedMs: number;
  /** between two attempts to fetch the calls of functions */
  readonly callsMs: number;
}

export const defaultTimes: ClientTimes = { idleMs: 45_000, headersMs: 90_000, queuedMs: 250, callsMs: 1_000 };
