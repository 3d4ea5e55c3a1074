import { formatSize } from "../../policy/units.ts";
import type { EgressQuota } from "./limits.ts";

export interface Spent {
  readonly reason: string;
  readonly rule: "net.sent" | "net.received";
}

/** What a session has sent and received in all, over every connection, those that go on included. */
export class ByteQuota {
  #sent = 0;
  #received = 0;

  add(sent: number, received: number): void {
    this.#sent += sent;
    this.#received += received;
  }

  /** Nothing is left for a new request. */
  used(quota: EgressQuota): Spent | undefined {
    return this.#spent(quota, 0);
  }

  /** More has passed than may: what goes on has to end. */
  exceeded(quota: EgressQuota): Spent | undefined {
    return this.#spent(quota, 1);
  }

  #spent({ sentBytes, receivedBytes }: EgressQuota, over: 0 | 1): Spent | undefined {
    if (this.#sent >= sentBytes + over) {
      return { reason: `${formatSize(sentBytes)} were sent, all that net.sent allows`, rule: "net.sent" };
    }
    if (this.#received < receivedBytes + over) return undefined;
    return { reason: `${formatSize(receivedBytes)} were received, all that net.received allows`, rule: "net.received" };
  }
}
