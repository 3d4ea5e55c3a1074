import { z } from "zod";
import type { Policy } from "../../../policy/schema.ts";
import type { UsageSample } from "../../../sessions/lifecycle/usage-samples.ts";
import type { Session } from "../../../sessions/session.ts";
import type { HistoryEntry } from "../../../sessions/storage/session-history.ts";
import { encodeTime, timestamp } from "../timestamp.ts";

export const usageSampleSchema = z.strictObject({
  at: timestamp,
  cpu_percent: z
    .number()
    .nullable()
    .describe(
      "processor time since the previous sample, in percent of one processor; null: the first sample, or unknown",
    ),
  memory_bytes: z.int().nullable().describe("of the whole cell; null: its runner cannot measure it"),
});

const limitsSchema = z.strictObject({
  memory_bytes: z.int().describe("proc.memory"),
  cpus: z.number().describe("proc.cpus"),
  processes: z.int().describe("proc.pids"),
  disk_bytes: z.int().describe("proc.disk"),
  timeout_ms: z.int().describe("proc.timeout, of one run"),
  output_bytes: z.int().describe("proc.output, of one run"),
  sent_bytes: z.int().nullable().describe("net.sent; null: no network"),
  received_bytes: z.int().nullable().describe("net.received; null: no network"),
});

const nowSchema = z.strictObject({
  cpu_percent: usageSampleSchema.shape.cpu_percent,
  memory_bytes: usageSampleSchema.shape.memory_bytes,
  peak_memory_bytes: z.int().nullable().describe("largest size since the cell started"),
  cpu_ms: z.number().nullable().describe("processor time since the cell started"),
  disk_bytes: z.int().nullable().describe("size of its files, as it was last measured; null: unknown"),
  processes: z.int().nullable().describe("processes and threads, as proc.pids counts them; null: unknown"),
  oom_kills: z.int().nullable().describe("how many processes the OOM killer has killed in this cell"),
});

const runUsageSchema = z.strictObject({
  run: z.int().describe("number of the run in its session"),
  ended_at: timestamp,
  status: z.string().describe("as in a run"),
  duration_ms: z.int(),
  cpu_ms: z.number().nullable().describe("as in [usage](#usage); null: unknown"),
  peak_memory_bytes: z.int().nullable().describe("as in [usage](#usage); null: unknown"),
  sent_bytes: z.int().nullable().describe("null: unknown"),
  received_bytes: z.int().nullable().describe("null: unknown"),
});

export const sessionUsageSchema = z.strictObject({
  limits: limitsSchema.describe("what the policy allows"),
  now: nowSchema.describe("what its cell uses now, forks included; every field is null without a cell"),
  samples: z.array(usageSampleSchema).describe("oldest first; at most 120"),
  runs: z.array(runUsageSchema).describe("its last runs, oldest first; at most 100"),
});
/** What a session uses, in the wire format. */
export type WireSessionUsage = z.output<typeof sessionUsageSchema>;

export interface MeasuredUsage {
  readonly policy: Policy;
  readonly samples: readonly UsageSample[];
  /** the last measurement; undefined: there is no cell */
  readonly usage: Session["lastUsage"];
  readonly runs: readonly HistoryEntry[];
}

export function encodeSessionUsage({ policy, samples, usage, runs }: MeasuredUsage): WireSessionUsage {
  const { proc, net } = policy;
  return {
    limits: {
      ...{ memory_bytes: proc.memoryBytes, cpus: proc.cpus, processes: proc.pids, disk_bytes: proc.diskBytes },
      ...{ timeout_ms: proc.timeoutMs, output_bytes: proc.outputBytes },
      sent_bytes: net.enabled ? net.sentBytes : null,
      received_bytes: net.enabled ? net.receivedBytes : null,
    },
    now: {
      cpu_percent: (usage && samples.at(-1)?.cpuPercent) ?? null,
      memory_bytes: usage?.memoryBytes ?? null,
      peak_memory_bytes: usage?.peakMemoryBytes ?? null,
      cpu_ms: usage?.cpuMs ?? null,
      disk_bytes: usage?.diskBytes ?? null,
      processes: usage?.processes ?? null,
      oom_kills: usage?.oomKills ?? null,
    },
    samples: samples.map(encodeSample),
    runs: runs.map(encodeRunUsage),
  };
}

export function encodeSample({ atMs, cpuPercent, memoryBytes }: UsageSample): WireSessionUsage["samples"][number] {
  return { at: encodeTime(atMs), cpu_percent: cpuPercent ?? null, memory_bytes: memoryBytes ?? null };
}

function encodeRunUsage({ run, atMs, status, durationMs, usage }: HistoryEntry): WireSessionUsage["runs"][number] {
  return {
    ...{ run, ended_at: encodeTime(atMs), status, duration_ms: Math.round(durationMs) },
    cpu_ms: usage?.cpuMs ?? null,
    peak_memory_bytes: usage?.peakMemoryBytes ?? null,
    sent_bytes: usage?.sentBytes ?? null,
    received_bytes: usage?.receivedBytes ?? null,
  };
}
