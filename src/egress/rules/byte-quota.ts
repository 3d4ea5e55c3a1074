import { formatSize } from "../../policy/format-units.ts";
import type { EgressQuota } from "./limits.ts";

export interface Spent {
  readonly reason: string;
  readonly rule: "net.sent" | "net.received";
}

/** Counts the bytes that a session has sent and received in total, including open connections. */
export class ByteQuota {
  #sent = 0;
  #received = 0;

  add(sent: number, received: number): void {
    this.#sent += sent;
    this.#received += received;
  }

  /** Set if nothing is left for a new request. */
  used(quota: EgressQuota): Spent | undefined {
    return this.#spent(quota, 0);
  }

  /** Set if a quota is exceeded and open connections must be cut. */
  exceeded(quota: EgressQuota): Spent | undefined {
    return this.#spent(quota, 1);
  }

  #spent({ sentBytes, receivedBytes }: EgressQuota, over: 0 | 1): Spent | undefined {
    if (this.#sent >= sentBytes + over) {
      return { reason: `the session has sent the ${formatSize(sentBytes)} that net.sent allows`, rule: "net.sent" };
    }
    if (this.#received < receivedBytes + over) return undefined;
    return {
      reason: `the session has received the ${formatSize(receivedBytes)} that net.received allows`,
      rule: "net.received",
    };
  }
}
