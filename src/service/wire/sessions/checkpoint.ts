import { z } from "zod";
import type { Checkpoint } from "../../../sessions/interpreter/checkpoint.ts";
import { encodeTime, timestamp } from "../timestamp.ts";

export const checkpointSchema = z.strictObject({
  name: z.string(),
  after_run: z.int().describe("number of the last run before it"),
  created_at: timestamp,
});
export type WireCheckpoint = z.output<typeof checkpointSchema>;

export function encodeCheckpoint({ name, run, atMs }: Checkpoint): WireCheckpoint {
  return { name, after_run: run, created_at: encodeTime(atMs) };
}
