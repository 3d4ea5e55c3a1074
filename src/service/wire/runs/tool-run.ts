import { z } from "zod";
import type { RunResult } from "../../../sessions/runs/run.ts";
import { type ShapedResult, shownText } from "../../output/shape-output.ts";
import type { StillRunning } from "../../runs/run-registry.ts";
import { artifactSchema, type DownloadUrl } from "../artifact.ts";
import { receiptSummarySchema } from "../receipt-summary.ts";
import { encodeRun, encodeRunning, runSchema, type WireRun } from "./run.ts";

const { shape } = runSchema;

/** The fields of a run that a model needs, with the same names and meanings, but truncated to its budget. */
const shared = {
  ...{ status: shape.status, error: shape.error, value: shape.value, stdout: shape.stdout, stderr: shape.stderr },
  ...{ truncated: shape.truncated, exit_code: shape.exit_code, notes: shape.notes, state: shape.state },
  ...{ duration_ms: shape.duration_ms, usage: shape.usage, runner: shape.runner },
};

/** The result of every tool that runs code. */
export const toolRunSchema = z.strictObject({
  ...shared,
  run_id: z.string().describe("for get_run"),
  session_id: z.string().describe("pass it to the next call to keep variables and files"),
  artifacts: z
    .array(z.strictObject({ uri: z.string().describe("address of the MCP resource"), ...artifactSchema.shape }))
    .describe("files that the run created or changed"),
  output_handle: z.string().nullable().describe("for read_output, to read the full text; null: nothing was truncated"),
  images: z.int().describe("number of images in this result"),
});
export type ToolRun = z.output<typeof toolRunSchema>;

/** What `get_run` answers. */
export const toolRunWithReceiptSchema = z.strictObject({
  ...toolRunSchema.shape,
  receipt: receiptSummarySchema.optional().describe("only if it was asked for, and once the run has ended"),
});

export interface ToolRunReference {
  readonly runId: string;
  readonly sessionId: string;
  readonly artifactUri: (name: string) => string;
  readonly downloadUrl?: DownloadUrl | undefined;
}

/** An ended run, with the texts of `shaped`, which the caller has truncated to the model's budget. */
export function encodeToolRun(
  result: RunResult,
  shaped: ShapedResult,
  images: number,
  { runId, sessionId, artifactUri, downloadUrl }: ToolRunReference,
): ToolRun {
  const run = encodeRun(result, { runId, sessionId, nextOffset: null }, { downloadUrl });
  return {
    ...sharedOf(run),
    error: run.error && {
      type: shaped.errorType ?? "",
      message: shownText(shaped, "error"),
      traceback: shownText(shaped, "traceback"),
    },
    value: run.value === null ? null : shownText(shaped, "value"),
    ...{ stdout: shownText(shaped, "stdout"), stderr: shownText(shaped, "stderr") },
    truncated: run.truncated || shaped.isCut,
    ...{ run_id: runId, session_id: sessionId },
    artifacts: run.artifacts.map((artifact) => ({ uri: artifactUri(artifact.name), ...artifact })),
    ...{ output_handle: shaped.handle ?? null, images },
  };
}

export function encodeToolRunning(
  running: StillRunning,
  { sessionId, runner, notes }: { sessionId: string; runner: string; notes: readonly string[] },
): ToolRun {
  const run = encodeRunning(running, { sessionId, runner });
  return {
    ...{ ...sharedOf(run), run_id: running.runId, session_id: sessionId, notes: [...notes] },
    ...{ artifacts: [], output_handle: null, images: 0 },
  };
}

function sharedOf(run: WireRun): Pick<WireRun, keyof typeof shared> {
  const { status, error, value, stdout, stderr, truncated, exit_code, notes, state, duration_ms, usage, runner } = run;
  return { status, error, value, stdout, stderr, truncated, exit_code, notes, state, duration_ms, usage, runner };
}
