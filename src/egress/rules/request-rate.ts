import { burstSeconds } from "./limits.ts";

/** A bucket of requests that fills with time. */
export class RequestRate {
  readonly #now: () => number;
  #perSecond: number;
  #most: number;
  #left: number;
  #at: number;

  constructor(perSecond: number, most = perSecond * burstSeconds, now = () => performance.now()) {
    this.#perSecond = perSecond;
    this.#most = most;
    this.#now = now;
    this.#left = most;
    this.#at = now();
  }

  /** Whether one more may go now. */
  take(): boolean {
    this.#fill();
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }

  /** Another rate from now on; what is left of the old one is not more than the new one has. */
  change(perSecond: number): void {
    this.#fill();
    this.#perSecond = perSecond;
    this.#most = perSecond * burstSeconds;
    this.#left = Math.min(this.#left, this.#most);
  }

  #fill(): void {
    const now = this.#now();
    this.#left = Math.min(this.#most, this.#left + ((now - this.#at) / 1000) * this.#perSecond);
    this.#at = now;
  }
}
