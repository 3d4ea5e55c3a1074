import { z } from "zod";
import type { RunResult } from "../../../sessions/runs/run.ts";
import { shownText } from "../../output/shape-output.ts";
import type { StillRunning } from "../../runs/run-registry.ts";
import { artifactSchema, type DownloadUrl, encodeArtifact, encodeLeftOut, leftOutSchema } from "../artifact.ts";
import { egressSchema, encodeEgress } from "../egress.ts";
import { encodeReceipt, receiptSchema } from "../receipt.ts";
import { snapshotSchema } from "../sessions/snapshot.ts";
import { encodeUsage, usageSchema } from "../usage.ts";

export const runEndings = [
  ...(["ok", "error", "timeout", "interrupted", "out_of_memory", "output_limit", "crashed", "cancelled"] as const),
] satisfies readonly RunResult["status"][];

export const displaySchema = z.strictObject({
  display: z.int().describe("number of the displayed value; the forms of one value share it"),
  mime_type: z.string(),
  size: z.int().describe("bytes"),
  stdout_offset: z
    .int()
    .nullable()
    .describe("how many characters the program had printed to stdout before it; null: unknown"),
  data_base64: z
    .string()
    .nullable()
    .describe("the content; null: not included (too large, or on the command line); the events contain it"),
});

const runDisplaySchema = displaySchema.extend({
  path: z
    .string()
    .nullable()
    .optional()
    .describe("only `codecell run`: the file on the host that it was saved to; null: not saved"),
});

export const runErrorSchema = z.strictObject({
  type: z.string().describe("class of the exception: `ValueError`, `pandas.errors.EmptyDataError`"),
  message: z.string(),
  traceback: z.string().describe("frames of the program only; empty if there is none"),
});

export const runSchema = z.strictObject({
  run_id: z.string().nullable().describe("to get the run again; null: on the command line, where runs are not kept"),
  session_id: z.string().nullable().describe("null: the cell of `codecell run` without `--session`"),
  status: z
    .enum([...runEndings, "running"])
    .describe("how the run ended; `error` means that the program failed, not codecell"),
  state: z
    .enum(["kept", "recovered", "lost"])
    .nullable()
    .describe("what is left of the variables; null while it is running"),
  exit_code: z.int().nullable().describe("exit code of the program, if it has one"),
  value: z.string().nullable().describe("repr of the last expression"),
  stdout: z
    .string()
    .describe("the kept output: its beginning and end; truncated further while it is running, and for a model"),
  stderr: z.string().describe("as above"),
  stdout_bytes: z.int().nullable().describe("size of the whole output, kept or not; null while it is running"),
  stderr_bytes: z.int().nullable().describe("as above"),
  truncated: z.boolean().describe("output or value was truncated"),
  left_out_bytes: z
    .strictObject({ stdout: z.int(), stderr: z.int() })
    .nullable()
    .describe("how much is missing in the middle of the kept output; null while it is running"),
  error: runErrorSchema.nullable().describe("the exception that ended the program"),
  stopped_at_line: z
    .int()
    .nullable()
    .describe("the line of its code that was running when it timed out or was interrupted; null: unknown"),
  recovered_to: z
    .int()
    .nullable()
    .describe("after a recovery: number of the run whose final variables were restored; 0: a fresh interpreter"),
  displays: z.array(runDisplaySchema).describe("values that the program displayed: figures, tables, HTML"),
  artifacts: z.array(artifactSchema).describe("files that the run created or changed"),
  left_out: z.array(leftOutSchema).describe("changed files that are not artifacts, and why"),
  egress: egressSchema
    .nullable()
    .describe("hosts that the run reached or that the policy denied; null without a network"),
  notes: z.array(z.string()).describe("what was lost, stopped or denied, one sentence each"),
  number: z.int().nullable().describe("number of the run in its session; null while it is running"),
  duration_ms: z.int().describe("from the call to the result; while it is running: up to now"),
  usage: usageSchema.nullable().describe("what the run used; null while it is running"),
  runner: z.string(),
  policy_hash: z.string().nullable().describe("sha256 of the policy in force, in hex; null while it is running"),
  next_offset: z
    .int()
    .nullable()
    .describe("`offset` of the first event after this response; null: on the command line"),
  receipt: receiptSchema.optional().describe("on the command line, and over HTTP with `?receipt=true`"),
  save: z
    .strictObject({
      snapshot: snapshotSchema.nullable(),
      problem: z.string().nullable().describe("why it was not saved"),
    })
    .optional()
    .describe("only `codecell run --session`: what was saved after the run"),
});
/** A run in the wire format. */
export type WireRun = z.output<typeof runSchema>;

/** How to find a run again. */
export interface RunReference {
  readonly runId: string | null;
  readonly sessionId: string | null;
  readonly nextOffset: number | null;
}

/** What goes along with a run. */
export interface EncodeRunOptions {
  readonly downloadUrl?: DownloadUrl | undefined;
  /** how many bytes of displayed values go along; default: none */
  readonly displayBytes?: number;
  readonly withReceipt?: boolean;
}

/** A run that ended, with its whole output as far as the policy keeps it. */
export function encodeRun(
  result: RunResult,
  { runId, sessionId, nextOffset }: RunReference,
  { downloadUrl, displayBytes = 0, withReceipt = false }: EncodeRunOptions = {},
): WireRun {
  const { error, egress, receipt } = result;
  return {
    ...{ run_id: runId, session_id: sessionId, status: result.status, state: result.state },
    exit_code: result.exitCode ?? null,
    value: result.value ?? null,
    ...{ stdout: result.stdout, stderr: result.stderr },
    ...{ stdout_bytes: result.stdoutBytes, stderr_bytes: result.stderrBytes, truncated: result.truncated },
    left_out_bytes: { ...result.leftOutBytes },
    error: error ? { type: error.name, message: error.message, traceback: error.traceback } : null,
    stopped_at_line: result.stoppedAtLine ?? null,
    recovered_to: result.recoveredTo ?? null,
    displays: encodeDisplays(result.displays, displayBytes),
    artifacts: result.artifacts.map((artifact) => encodeArtifact(artifact, downloadUrl)),
    left_out: result.leftOut.map(encodeLeftOut),
    egress: egress ? encodeEgress(egress) : null,
    notes: [...result.notes],
    number: result.id,
    duration_ms: Math.round(result.durationMs),
    usage: encodeUsage(result.usage),
    ...{ runner: result.runner, policy_hash: receipt.policyHash, next_offset: nextOffset },
    ...(withReceipt ? { receipt: encodeReceipt(receipt) } : {}),
  };
}

/** A run that is still running, with a part of its output. */
export function encodeRunning(
  { runId, elapsedMs, nextOffset, outputSoFar }: StillRunning,
  { sessionId, runner }: { readonly sessionId: string; readonly runner: string },
): WireRun {
  return {
    ...{ run_id: runId, session_id: sessionId, status: "running", state: null },
    ...{ exit_code: null, value: null, left_out_bytes: null, stopped_at_line: null, recovered_to: null },
    ...{ stdout: shownText(outputSoFar, "stdout"), stderr: shownText(outputSoFar, "stderr") },
    ...{ stdout_bytes: null, stderr_bytes: null, truncated: outputSoFar.isCut, error: null },
    ...{ displays: [], artifacts: [], left_out: [], egress: null, notes: [] },
    ...{
      number: null,
      duration_ms: Math.round(elapsedMs),
      usage: null,
      runner,
      policy_hash: null,
      next_offset: nextOffset,
    },
  };
}

function encodeDisplays(displays: RunResult["displays"], displayBytes: number): WireRun["displays"] {
  let room = displayBytes;
  return displays.map(({ display, mime, data, stdoutOffset }) => {
    room -= data.byteLength;
    const data_base64 = room < 0 ? null : Buffer.from(data).toString("base64");
    return { display, mime_type: mime, size: data.byteLength, stdout_offset: stdoutOffset ?? null, data_base64 };
  });
}
