/** Why the supervisor stops a run. */
export type StopReason = "timeout" | "interrupted" | "output_limit";

/** What the supervisor measures itself, so that user code cannot forge it. */
export interface RunCounts {
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  /** CPU time of the run in microseconds; undefined if it never started */
  readonly cpuUs?: number;
  /** largest resident size of the cell's process so far */
  readonly peakBytes?: number;
}

/** The `done` message of a run whose interpreter answered. `fields` comes from Python, which can lie only about its own run. */
export function answeredRun(
  id: number,
  fields: Readonly<Record<string, unknown>>,
  stop: StopReason | undefined,
  counts: RunCounts,
): Record<string, unknown> {
  const notes = Array.isArray(fields.notes) ? fields.notes : [];
  return {
    ...pick(fields, ["exitCode", "result", "resultTruncated", "error", "line", "files", "filesComplete"]),
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
  // An interrupt that the program swallowed has no effect on the status, but an exceeded limit does.
  if (stop === "timeout" || stop === "output_limit") return stop;
  const { status, error } = fields;
  const isMemory = status === "error" && (error as { name?: unknown } | undefined)?.name === "MemoryError";
  return isMemory ? "out_of_memory" : status;
}

/** The `done` message of a run that crashed its interpreter. */
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
