import type { DoneMessage } from "./messages.ts";

const statuses: ReadonlySet<unknown> = new Set(["ok", "error", "timeout", "interrupted", "output_limit", "cancelled"]);
const fields: ReadonlySet<string> = new Set([
  ...["t", "id", "status", "state", "exitCode", "result", "stdoutBytes", "stderrBytes", "notes", "branch"],
  ...["cpuUs", "peakBytes"],
]);

/**
 * Validates the `done` message of an ordinary run by hand, because the full schema would take a tenth of a short run's
 * time. It accepts only whole numbers, known words and an optional result. Any other message is left to the schema.
 */
export function plainDone(header: unknown): DoneMessage | undefined {
  if (typeof header !== "object" || header === null) return undefined;
  const {
    t,
    id,
    status,
    state,
    exitCode,
    result,
    stdoutBytes = 0,
    stderrBytes = 0,
    notes,
    cpuUs,
    peakBytes,
  } = header as Record<string, unknown>;
  if (t !== "done" || state !== "kept" || !statuses.has(status) || !hasOnlyPlainFields(header)) return undefined;
  if (!isCount(id) || !isCount(stdoutBytes) || !isCount(stderrBytes)) return undefined;
  if (notes !== undefined && !(Array.isArray(notes) && notes.length === 0)) return undefined;
  if (exitCode !== undefined && !(isCount(exitCode) && exitCode <= 255)) return undefined;
  if (result !== undefined && typeof result !== "string") return undefined;
  if ((cpuUs !== undefined && !isCount(cpuUs)) || (peakBytes !== undefined && !isCount(peakBytes))) return undefined;
  const plain: DoneMessage = {
    t,
    id,
    status: status as DoneMessage["status"],
    state,
    stdoutBytes,
    stderrBytes,
    notes: [],
  };
  if (exitCode !== undefined) plain.exitCode = exitCode;
  if (result !== undefined) plain.result = result;
  if (cpuUs !== undefined) plain.cpuUs = cpuUs;
  if (peakBytes !== undefined) plain.peakBytes = peakBytes;
  return plain;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function hasOnlyPlainFields(header: object): boolean {
  for (const field in header) if (!fields.has(field)) return false;
  return true;
}
