import { z } from "zod";
import type { RecordedOutputs } from "../../../sessions/runs/recorded-outputs.ts";
import type { HistoryEntry } from "../../../sessions/storage/session-history.ts";
import { runErrorSchema } from "../runs/run.ts";
import { encodeTime, timestamp } from "../timestamp.ts";

const outputEventSchema = z.strictObject({
  type: z.enum(["stdout", "stderr", "display"]),
  text: z.string().nullable().describe("what was printed; null: a display"),
  display: z.int().nullable().describe("number of the displayed value; the forms of one value share it; null: text"),
  mime_type: z.string().nullable().describe("null: text"),
  data_base64: z.string().nullable().describe("content of the display; null: text, or too large for this response"),
});

const outputsSchema = z.strictObject({
  events: z.array(outputEventSchema).describe("what it printed and displayed, in order"),
  value: z.string().nullable().describe("repr of the last expression"),
  error: runErrorSchema.nullable().describe("the exception that ended the program"),
  left_out_bytes: z.int().describe("how much of its output the history did not keep"),
});

export const historyEntrySchema = z.strictObject({
  run: z.int().describe("number of the run in its session"),
  ended_at: timestamp,
  language: z.string(),
  code: z.string(),
  status: z.string().describe("as in a run"),
  duration_ms: z.int(),
  outputs: outputsSchema
    .nullable()
    .optional()
    .describe("only where outputs are asked for; null: they are no longer kept"),
});
export type WireHistoryEntry = z.output<typeof historyEntrySchema>;

export function encodeHistoryEntry({ run, atMs, language, code, status, durationMs }: HistoryEntry): WireHistoryEntry {
  return { run, ended_at: encodeTime(atMs), language, code, status, duration_ms: Math.round(durationMs) };
}

/** Runs with their outputs; `displayBytes`: how many bytes of displayed values go along, of the latest runs first. */
export function encodeHistoryRuns(runs: readonly HistoryEntry[], displayBytes: number): WireHistoryEntry[] {
  const room = { bytes: displayBytes };
  const latestFirst = runs.toReversed().map((run) => {
    return { ...encodeHistoryEntry(run), outputs: run.outputs ? encodeOutputs(run.outputs, room) : null };
  });
  return latestFirst.reverse();
}

function encodeOutputs(outputs: RecordedOutputs, room: { bytes: number }): WireHistoryEntry["outputs"] {
  const { events, value = null, error, leftOutBytes } = outputs;
  return {
    events: events.map((event) => {
      if (event.type !== "display") {
        return { type: event.type, text: event.text, display: null, mime_type: null, data_base64: null };
      }
      const { type, display, mime, data } = event;
      room.bytes -= data.byteLength;
      const data_base64 = room.bytes < 0 ? null : Buffer.from(data).toString("base64");
      return { type, text: null, display, mime_type: mime, data_base64 };
    }),
    value,
    error: error ? { type: error.name, message: error.message, traceback: error.traceback } : null,
    left_out_bytes: leftOutBytes,
  };
}
