import type { RunEgress } from "../../sessions/network/egress-record.ts";

/** What a run did with its network, as programs get it. */
export function egressJson({ allowed, denied, more }: RunEgress) {
  return {
    allowed: allowed.map(({ sentBytes, receivedBytes, ...rest }) => {
      return { ...rest, sent_bytes: sentBytes, received_bytes: receivedBytes };
    }),
    denied: denied.map((one) => ({ ...one })),
    more,
  };
}
