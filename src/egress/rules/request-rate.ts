import { burstSeconds } from "./limits.ts";

/** A token bucket for requests. */
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

  /** Takes a token; false if none is left. */
  take(): boolean {
    this.#fill();
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }

  /** Changes the rate. Tokens left over are capped at the new burst size. */
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
