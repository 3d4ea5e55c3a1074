import { z } from "zod";
import type { RunHandle } from "../../runs/run-registry.ts";
import { runEndings } from "./run.ts";

export const runSummarySchema = z.strictObject({
  run_id: z.string(),
  session_id: z.string(),
  status: z.enum([...runEndings, "running", "failed"]).describe("as in a run; `failed`: codecell could not finish it"),
  cancelled: z.boolean().describe("whether it was cancelled by a caller"),
  duration_ms: z.int().describe("while it is running: up to now"),
  next_offset: z.int().describe("number of its events so far"),
  number: z.int().nullable().describe("number of the run in its session, as in the history; null: unknown"),
  code: z.string().nullable().describe("at most its first 16,384 characters; null: unknown"),
  code_cut: z
    .boolean()
    .describe("whether `code` is only its beginning; the history has all of it when the run has ended"),
  language: z.string().nullable().describe("null: unknown"),
});
export type WireRunSummary = z.output<typeof runSummarySchema>;

export function encodeRunSummary({
  runId,
  sessionId,
  status,
  isCancelled,
  elapsedMs,
  nextOffset,
  number,
  program,
}: RunHandle): WireRunSummary {
  return {
    ...{ run_id: runId, session_id: sessionId, status, cancelled: isCancelled },
    ...{ duration_ms: Math.round(elapsedMs), next_offset: nextOffset, number: number ?? null },
    ...{ code: program?.code ?? null, code_cut: program?.isCodeCut === true, language: program?.language ?? null },
  };
}
