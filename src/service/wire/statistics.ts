import { z } from "zod";
import { timestamp } from "./timestamp.ts";

export const statisticsSampleSchema = z.strictObject({
  at: timestamp.describe("end of the interval"),
  runs_per_second: z.number(),
  runs: z.record(z.string(), z.int()).describe("runs that ended in the interval, by status"),
  latency_ms: z
    .strictObject({ p50: z.number(), p95: z.number(), p99: z.number() })
    .nullable()
    .describe("of these runs, from the request to the result; null: no run ended"),
  requests_per_second: z.number(),
  refused: z.int().describe("requests that a limit refused in the interval"),
  sessions: z.int().describe("sessions with a cell, or starting one"),
  running: z.int().describe("runs that are running"),
  pool: z
    .strictObject({ ready: z.int(), hits: z.int(), misses: z.int() })
    .describe("cells kept ready now; sessions that got one in the interval, and that waited for one"),
  rss_bytes: z.int().describe("memory of the service's process"),
  cost_usd: z.number().describe("of model calls in the interval"),
});
/** What a service did in one interval. */
export type StatisticsSample = z.output<typeof statisticsSampleSchema>;
