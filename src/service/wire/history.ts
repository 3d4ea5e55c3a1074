import { z } from "zod";
import type { HistoryEntry } from "../../sessions/storage/session-history.ts";
import { encodeTime, timestamp } from "./timestamp.ts";

export const historyEntrySchema = z.strictObject({
  run: z.int().describe("number of the run in its session"),
  ended_at: timestamp,
  language: z.string(),
  code: z.string(),
  status: z.string().describe("as in a run"),
  duration_ms: z.int(),
});
export type WireHistoryEntry = z.output<typeof historyEntrySchema>;

export function encodeHistoryEntry({ run, atMs, language, code, status, durationMs }: HistoryEntry): WireHistoryEntry {
  return { run, ended_at: encodeTime(atMs), language, code, status, duration_ms: Math.round(durationMs) };
}
