/** Why the supervisor ends a run. */
export type StopReason = "timeout" | "interrupted" | "output_limit";

/** What the supervisor counts itself, outside the interpreter's reach. */
export interface RunCounts {
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  /** processor time of the run in microseconds; absent: it never began */
  readonly cpuUs?: number;
  /** largest resident size of the cell's process so far */
  readonly peakBytes?: number;
}

/** The `done` of a run whose interpreter answered. `fields` is what Python said: its own run is all it can lie about. */
export function answeredRun(
  id: number,
  fields: Readonly<Record<string, unknown>>,
  stop: StopReason | undefined,
  counts: RunCounts,
): Record<string, unknown> {
  const notes = Array.isArray(fields.notes) ? fields.notes : [];
  return {
    ...pick(fields, ["exitCode", "result", "resultTruncated", "error", "files", "filesComplete"]),
    t: "done",
    id,
    status: statusOf(fields, stop),
    state: "kept",
    notes: [
      ...notes,
      ...(stop === "output_limit" ? ["The run was stopped because it printed far over its limit."] : []),
    ],
    ...counts,
  };
}

function statusOf(fields: Readonly<Record<string, unknown>>, stop: StopReason | undefined): unknown {
  // An interrupt that the program swallowed changes nothing; a limit that it passed stays passed.
  if (stop === "timeout" || stop === "output_limit") return stop;
  const { status, error } = fields;
  const isMemory = status === "error" && (error as { name?: unknown } | undefined)?.name === "MemoryError";
  return isMemory ? "out_of_memory" : status;
}

/** The `done` of a run that took its interpreter with it. */
export function lostRun(
  id: number,
  status: string,
  notes: readonly string[],
  counts: RunCounts,
): Record<string, unknown> {
  return { t: "done", id, status, state: "lost", notes, ...counts };
}

function pick(source: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.filter((name) => source[name] !== undefined).map((name) => [name, source[name]]));
}
