import { z } from "zod";
import type { RunEvent } from "../../../sessions/runs/run.ts";
import { errorFieldsSchema } from "../error.ts";
import { displaySchema, runSchema } from "./run.ts";

const offset = z.int().describe("number of the event in its run, from 0");

export const runEventSchema = z.discriminatedUnion("type", [
  z
    .strictObject({ type: z.literal("run"), run_id: z.string(), session_id: z.string() })
    .describe("first event: identifies the run"),
  z.strictObject({ type: z.literal("stdout"), offset, text: z.string() }).describe("the program printed something"),
  z.strictObject({ type: z.literal("stderr"), offset, text: z.string() }).describe("the program printed something"),
  z
    .strictObject({ type: z.literal("display"), offset, ...displaySchema.shape, data_base64: z.string() })
    .describe("one form of a displayed value"),
  z.strictObject({ type: z.literal("result"), offset, run: runSchema }).describe("last event: how the run ended"),
  z
    .strictObject({ type: z.literal("error"), error: errorFieldsSchema })
    .describe("last event, instead of `result`: codecell could not finish the run"),
]);
/** An event of a run in the wire format. */
export type WireRunEvent = z.output<typeof runEventSchema>;

/** One event of a run, with its number. */
export function encodeRunEvent(event: RunEvent, at: number): WireRunEvent {
  if (event.type !== "display") return { type: event.type, offset: at, text: event.text };
  const { type, display, mime, data, stdoutOffset } = event;
  const data_base64 = Buffer.from(data).toString("base64");
  const place = { type, offset: at, stdout_offset: stdoutOffset ?? null };
  return { ...place, display, mime_type: mime, size: data.byteLength, data_base64 };
}
