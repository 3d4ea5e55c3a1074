import { z } from "zod";
import type { StillRunning } from "../../service/runs/run-registry.ts";
import type { Sandbox } from "../../service/sandbox.ts";
import { egressJson } from "../../service/wire/egress-json.ts";
import type { RunResult } from "../../sessions/runs/run.ts";

/** Displays that an answer carries; the rest is there by its size, and in the events. */
const maxDisplayBytes = 8 * 1024 * 1024;

export const artifactSchema = z.object({
  name: z.string().describe("path in the workspace"),
  size: z.number(),
  mime_type: z.string(),
  sha256: z.string(),
  download_url: z
    .string()
    .optional()
    .describe("expires; holds for this content only; absent when the session has ended meanwhile"),
});

export const runSchema = z.object({
  run_id: z.string(),
  session_id: z.string(),
  status: z
    .enum(["ok", "error", "timeout", "interrupted", "out_of_memory", "output_limit", "crashed", "cancelled", "running"])
    .describe("a program that fails is an answer, not an error"),
  state: z.enum(["kept", "recovered", "lost"]).nullable().describe("what is left of the variables; null while running"),
  result: z.string().nullable().describe("repr of the last expression"),
  stdout: z.string().describe("while running: its last part"),
  stderr: z.string(),
  error: z.object({ name: z.string(), message: z.string(), traceback: z.string() }).nullable(),
  exit_code: z.number().nullable().describe("of the program, where it has one"),
  truncated: z.boolean(),
  stdout_bytes: z.number(),
  stderr_bytes: z.number(),
  displays: z.array(
    z.object({
      display: z.number().describe("forms of one value share it"),
      mime_type: z.string(),
      bytes: z.number(),
      data_base64: z.string().nullable().describe("null: too large for this answer; the events have it"),
    }),
  ),
  artifacts: z.array(artifactSchema).describe("files that the run made or changed"),
  left_out: z.array(z.object({ name: z.string(), reason: z.string(), message: z.string() })),
  egress: z
    .object({
      allowed: z.array(z.looseObject({ host: z.string(), port: z.number() })),
      denied: z.array(z.looseObject({ host: z.string(), port: z.number(), reason: z.string() })),
      more: z.number().describe("hosts that are not listed because there were too many"),
    })
    .nullable()
    .describe("hosts that it reached or was refused; null without a network"),
  notes: z.array(z.string()),
  duration_ms: z.number(),
  next_offset: z.number().describe("where the events go on"),
  runner: z.string(),
  policy_hash: z.string().nullable(),
});
export type RunView = z.output<typeof runSchema>;

/** An ended run, with its whole output as far as the policy keeps it. */
export async function endedView(
  result: RunResult,
  runId: string,
  sessionId: string,
  sandbox: Sandbox,
): Promise<RunView> {
  const downloadUrl = result.artifacts.length === 0 ? undefined : await sandbox.linksOf(sessionId);
  let room = maxDisplayBytes;
  return {
    ...{ run_id: runId, session_id: sessionId, status: result.status, state: result.state },
    result: result.value ?? null,
    ...{ stdout: result.stdout, stderr: result.stderr, error: result.error ?? null },
    ...{ exit_code: result.exitCode ?? null, truncated: result.truncated },
    stdout_bytes: result.stdoutBytes,
    stderr_bytes: result.stderrBytes,
    displays: result.displays.map(({ display, mime, data }) => {
      room -= data.byteLength;
      const data_base64 = room < 0 ? null : Buffer.from(data).toString("base64");
      return { display, mime_type: mime, bytes: data.byteLength, data_base64 };
    }),
    artifacts: result.artifacts.map(({ name, size, mimeType, sha256 }) => ({
      ...{ name, size, mime_type: mimeType, sha256 },
      ...(downloadUrl ? { download_url: downloadUrl({ name, sha256 }) } : {}),
    })),
    left_out: result.leftOut.map(({ name, reason, message }) => ({ name, reason, message })),
    egress: result.egress ? egressJson(result.egress) : null,
    notes: [...result.notes],
    duration_ms: Math.round(result.durationMs),
    next_offset: sandbox.runs.status(runId).nextOffset,
    runner: result.runner,
    policy_hash: result.receipt.policyHash,
  };
}

/** A run that goes on, with a part of its output. */
export function runningView(running: StillRunning, sessionId: string, runner: string): RunView {
  const section = (name: "stdout" | "stderr") =>
    running.outputSoFar.sections.find((one) => one.name === name)?.text.replace(`[${name}]\n`, "") ?? "";
  return {
    ...{ run_id: running.runId, session_id: sessionId, status: "running", state: null, exit_code: null },
    ...{ result: null, egress: null },
    ...{ stdout: section("stdout"), stderr: section("stderr"), error: null, truncated: running.outputSoFar.isCut },
    ...{ stdout_bytes: 0, stderr_bytes: 0, displays: [], artifacts: [], left_out: [], notes: [] },
    ...{ duration_ms: Math.round(running.elapsedMs), next_offset: running.nextOffset, runner, policy_hash: null },
  };
}
