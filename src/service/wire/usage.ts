import { z } from "zod";
import type { RunUsage } from "../../sessions/runs/run.ts";

export const usageSchema = z.strictObject({
  cpu_ms: z
    .number()
    .nullable()
    .describe(
      "processor time of the interpreter, its threads and the child processes it waited for; measured in the cell; null: the interpreter was killed",
    ),
  peak_memory_bytes: z
    .int()
    .nullable()
    .describe(
      "largest resident size of the interpreter's process since it started, earlier runs included; measured in the cell; null: the interpreter was killed",
    ),
  wall_ms: z.number().describe("from the call to the result; measured on the host"),
  sent_bytes: z.int().describe("through the proxy, all hosts together; 0 without a network"),
  received_bytes: z.int().describe("through the proxy, all hosts together; 0 without a network"),
});
export type WireUsage = z.output<typeof usageSchema>;

export function encodeUsage({ cpuMs, peakMemoryBytes, wallMs, sentBytes, receivedBytes }: RunUsage): WireUsage {
  return {
    cpu_ms: cpuMs === undefined ? null : toMicroseconds(cpuMs),
    peak_memory_bytes: peakMemoryBytes ?? null,
    wall_ms: toMicroseconds(wallMs),
    sent_bytes: sentBytes,
    received_bytes: receivedBytes,
  };
}

function toMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
