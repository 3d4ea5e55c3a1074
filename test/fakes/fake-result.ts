import type { RunResult } from "../../src/sessions/runs/run.ts";

/** The result of a run that never was, with what a test cares about. */
export function fakeResult(facts: Partial<RunResult> = {}): RunResult {
  const { stdout = "", stderr = "" } = facts;
  return {
    id: 1,
    status: "ok",
    state: "kept",
    exitCode: 0,
    stdout,
    stderr,
    value: undefined,
    error: undefined,
    displays: [],
    truncated: false,
    stdoutBytes: Buffer.byteLength(stdout),
    stderrBytes: Buffer.byteLength(stderr),
    notes: [],
    recoveredTo: undefined,
    artifacts: [],
    leftOut: [],
    durationMs: 12,
    runner: "wasm",
    receipt: { runner: "wasm", runnerVersion: "fake", policyHash: "0", rules: [], notes: [] },
    ...facts,
  };
}
