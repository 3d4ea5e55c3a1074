import type { RunResult } from "../../src/sessions/runs/run.ts";

/** A result with defaults for all fields that a test does not set. */
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
    leftOutBytes: {
      stdout: facts.truncated ? Math.max(0, (facts.stdoutBytes ?? 0) - Buffer.byteLength(stdout)) : 0,
      stderr: facts.truncated ? Math.max(0, (facts.stderrBytes ?? 0) - Buffer.byteLength(stderr)) : 0,
    },
    notes: [],
    recoveredTo: undefined,
    artifacts: [],
    leftOut: [],
    durationMs: 12,
    usage: { cpuMs: 3.5, peakMemoryBytes: 12_582_912, wallMs: 12, sentBytes: 0, receivedBytes: 0 },
    runner: "wasm",
    receipt: { runner: "wasm", runnerVersion: "fake", policyHash: "0", rules: [], notes: [] },
    ...facts,
  };
}
