/** Options of the clients that speak HTTP. */
export interface HttpClientOptions {
  /** where the API is; by default, the provider's own servers */
  readonly baseUrl?: string;
  /** for one attempt, in milliseconds */
  readonly timeoutMs?: number;
  readonly maxResponseBytes?: number;
  readonly fetch?: typeof globalThis.fetch;
}

export const clientDefaults = { timeoutMs: 120_000, maxResponseBytes: 16 * 1024 * 1024 } as const;
