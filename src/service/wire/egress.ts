import { z } from "zod";
import type { RunEgress } from "../../sessions/network/egress-record.ts";

export const egressSchema = z.strictObject({
  allowed: z
    .array(
      z.strictObject({
        host: z.string(),
        port: z.int(),
        requests: z.int().describe("number of requests"),
        sent_bytes: z.int(),
        received_bytes: z.int(),
        failures: z.int().describe("allowed requests that failed"),
        failure: z.string().nullable().describe("why the last one failed"),
      }),
    )
    .describe("hosts that the run reached"),
  denied: z
    .array(
      z.strictObject({
        host: z.string(),
        port: z.int(),
        requests: z.int(),
        reason: z.string(),
        remedy: z.string().describe("what would allow it"),
      }),
    )
    .describe("hosts that the policy denied"),
  more: z.int().describe("number of hosts that are not listed because there were too many"),
});
export type WireEgress = z.output<typeof egressSchema>;

export function encodeEgress({ allowed, denied, more }: RunEgress): WireEgress {
  return {
    allowed: allowed.map(({ host, port, requests, sentBytes, receivedBytes, failures, failure = null }) => {
      return { host, port, requests, sent_bytes: sentBytes, received_bytes: receivedBytes, failures, failure };
    }),
    denied: denied.map(({ host, port, requests, reason, remedy }) => ({ host, port, requests, reason, remedy })),
    more,
  };
}
