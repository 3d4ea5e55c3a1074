import type { EgressLimits } from "./limits.ts";

/** A bucket of requests that fills with time. */
export class RequestRate {
  readonly #limits: Pick<EgressLimits, "requestsPerSecond" | "burst">;
  readonly #now: () => number;
  #left: number;
  #at: number;

  constructor(limits: Pick<EgressLimits, "requestsPerSecond" | "burst">, now = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
    this.#left = limits.burst;
    this.#at = now();
  }

  /** Whether one more may go now. */
  take(): boolean {
    const now = this.#now();
    const { requestsPerSecond, burst } = this.#limits;
    this.#left = Math.min(burst, this.#left + ((now - this.#at) / 1000) * requestsPerSecond);
    this.#at = now;
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}
