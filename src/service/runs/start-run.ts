import { CodecellError } from "../../lib/errors.ts";
import type { RunOptions } from "../../sessions/runs/run-options.ts";
import type { Session } from "../../sessions/session.ts";
import { LateStdin } from "./late-stdin.ts";
import { programOf, type RunHandle, type RunRegistry } from "./run-registry.ts";

export interface StartRunOptions extends Pick<RunOptions, "language" | "timeout" | "args" | "file" | "stdin"> {
  /** how long to wait for another run in this session: models call tools in parallel */
  readonly turnMs: number;
  readonly signal: AbortSignal;
}

/** Starts a run in the registry when it is its turn. Throws if the session refuses the run. */
export async function startRun(
  runs: RunRegistry,
  session: Session,
  code: string,
  { turnMs, signal, ...options }: StartRunOptions,
): Promise<RunHandle> {
  const end = performance.now() + turnMs;
  const cancelling = new AbortController();
  for (;;) {
    const started = await claimTurn(runs, session.id, end, signal);
    try {
      if (signal.aborted) throw new CodecellError("aborted", "the call was cancelled before its code ran");
      const release = runs.acquireSlot();
      try {
        const run = session.run(code, { ...options, signal: cancelling.signal });
        await run.accepted();
        const stdin = options.stdin instanceof LateStdin ? options.stdin : undefined;
        const program = programOf(code, options.language);
        return runs.follow(session.id, run, cancelling, { release, stdin, program });
      } catch (error) {
        release();
        // a caller that does not use the registry started a run in between
        const isTaken = error instanceof CodecellError && error.code === "session_busy";
        if (!isTaken || performance.now() >= end || runningIn(runs, session.id) === undefined) throw error;
      }
    } finally {
      started();
    }
  }
}

/** Waits until no run is running in a session. Rejects if the caller leaves before. */
export async function afterRuns(runs: RunRegistry, sessionId: string, signal: AbortSignal): Promise<void> {
  for (let one = runningIn(runs, sessionId); one; one = runningIn(runs, sessionId)) {
    await runs.wait(one.runId, { signal }).catch((error: unknown) => {
      if (signal.aborted) throw error; // otherwise the other run failed, which does not concern this call
    });
  }
}

/** Waits for the turn and claims it at once, so that only one of the waiting calls starts and acquires a slot. */
async function claimTurn(runs: RunRegistry, sessionId: string, end: number, signal: AbortSignal): Promise<() => void> {
  for (;;) {
    const before = runningIn(runs, sessionId);
    const starting = runs.starting(sessionId);
    if (!before && !starting) return runs.claim(sessionId);
    const leftMs = end - performance.now();
    if (leftMs <= 0) {
      const what = before ? `run ${before.runId} of session ${sessionId} is still running` : "another run is starting";
      throw new CodecellError("session_busy", what, {
        hint: before ? `wait for it or cancel it; its run_id is ${before.runId}` : "try again",
      });
    }
    if (!before) await starting;
    else {
      await runs.wait(before.runId, { timeoutMs: leftMs, signal }).catch((error: unknown) => {
        if (signal.aborted) throw error; // otherwise the other run failed, which does not concern this call
      });
    }
  }
}

function runningIn(runs: RunRegistry, sessionId: string): RunHandle | undefined {
  return runs.running(sessionId)[0];
}
