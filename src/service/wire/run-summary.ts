import { z } from "zod";
import type { RunHandle } from "../runs/run-registry.ts";
import { runEndings } from "./run.ts";

export const runSummarySchema = z.strictObject({
  run_id: z.string(),
  session_id: z.string(),
  status: z.enum([...runEndings, "running", "failed"]).describe("as in a run; `failed`: codecell could not finish it"),
  cancelled: z.boolean().describe("whether it was cancelled by a caller"),
  duration_ms: z.int().describe("while it is running: up to now"),
  next_offset: z.int().describe("number of its events so far"),
});
export type WireRunSummary = z.output<typeof runSummarySchema>;

export function encodeRunSummary({
  runId,
  sessionId,
  status,
  isCancelled,
  elapsedMs,
  nextOffset,
}: RunHandle): WireRunSummary {
  return {
    ...{ run_id: runId, session_id: sessionId, status, cancelled: isCancelled },
    ...{ duration_ms: Math.round(elapsedMs), next_offset: nextOffset },
  };
}
