import { z } from "zod";
import type { NetworkEntry } from "../../sessions/network/network-log.ts";
import { encodeTime, timestamp } from "./timestamp.ts";

export const networkEntrySchema = z.strictObject({
  at: timestamp,
  run: z.int().nullable().describe("number of the run in its session; null: no run, or several in this cell"),
  host: z.string().describe("from the program, so it can be any text"),
  port: z.int(),
  verdict: z.enum(["allowed", "denied"]),
  rule: z.string().describe("which rule of the policy decided"),
  reason: z.string().nullable().describe("why it was denied, or failed although it was allowed"),
  address: z.string().nullable().describe("the resolved address, if that was the reason; only for the scope `admin`"),
  sent_bytes: z.int().nullable().describe("so far; null: no connection was made"),
  received_bytes: z.int().nullable(),
});
export type WireNetworkEntry = z.output<typeof networkEntrySchema>;

export function encodeNetworkEntry(entry: NetworkEntry, { hasAddress }: { hasAddress: boolean }): WireNetworkEntry {
  const { atMs, run = null, host, port, verdict, rule, reason = null, address = null } = entry;
  return {
    ...{ at: encodeTime(atMs), run, host, port, verdict, rule, reason, address: hasAddress ? address : null },
    ...{ sent_bytes: entry.sentBytes ?? null, received_bytes: entry.receivedBytes ?? null },
  };
}
