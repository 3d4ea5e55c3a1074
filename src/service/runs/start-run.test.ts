import { expect, test } from "vitest";
import { fakeResult } from "../../../test/fakes/fake-result.ts";
import { CodecellError } from "../../lib/errors.ts";
import { Run, type RunResult } from "../../sessions/runs/run.ts";
import type { RunOptions } from "../../sessions/runs/run-options.ts";
import type { Session } from "../../sessions/session.ts";
import { RunRegistry } from "./run-registry.ts";
import { startRun } from "./start-run.ts";

/** A session with one run at a time. A run ends when the test calls `end` or when it is cancelled. */
class OneAtATime {
  readonly id = "s-1";
  readonly started: string[] = [];
  #end: ((result: RunResult) => void) | undefined;

  run(code: string, { signal }: RunOptions = {}): Run {
    return new Run(async (progress) => {
      if (this.#end) throw new CodecellError("session_busy", "another run is still running");
      this.started.push(code);
      progress.accepted(() => {});
      signal?.addEventListener("abort", () => this.end({ status: "cancelled" }));
      return new Promise<RunResult>((resolve) => {
        this.#end = (ended) => {
          this.#end = undefined;
          resolve(ended);
        };
      });
    });
  }

  end(facts: Partial<RunResult> = {}): void {
    this.#end?.(fakeResult(facts));
  }
}

function setUp() {
  const session = new OneAtATime();
  const runs = new RunRegistry();
  const start = (code: string, options: { turnMs?: number; signal?: AbortSignal } = {}) => {
    const { turnMs = 5_000, signal = new AbortController().signal } = options;
    return startRun(runs, session as unknown as Session, code, { turnMs, signal });
  };
  return { session, runs, start };
}

test("a second run starts after the first has ended", async () => {
  const { session, runs, start } = setUp();
  const first = await start("one");
  const second = start("two");
  expect(session.started).toEqual(["one"]);
  session.end();
  await runs.wait(first.runId);
  const { runId } = await second;
  expect(session.started).toEqual(["one", "two"]);
  session.end();
  await runs.wait(runId);
});

test("a call that times out waiting for its turn gets session_busy with the id of the running run", async () => {
  const { session, start } = setUp();
  const { runId } = await start("one");
  await expect(start("two", { turnMs: 0 })).rejects.toMatchObject({
    code: "session_busy",
    hint: expect.stringContaining(runId),
  });
  session.end();
});

test("a call that is cancelled while it waits for its turn runs nothing", async () => {
  const { session, start } = setUp();
  await start("one");
  const controller = new AbortController();
  const second = start("two", { signal: controller.signal });
  controller.abort();
  await expect(second).rejects.toMatchObject({ code: "aborted" });
  session.end();
  expect(session.started).toEqual(["one"]);
});

test("a run can be cancelled by its id", async () => {
  const { runs, start } = setUp();
  const { runId } = await start("one");
  runs.cancel(runId);
  expect(await runs.wait(runId)).toMatchObject({ status: "cancelled" });
});

test("calls that wait for their turn acquire a slot one at a time", async () => {
  const session = new OneAtATime();
  let [taken, most] = [0, 0];
  const acquireSlot = () => {
    most = Math.max(most, ++taken);
    return () => {
      taken--;
    };
  };
  const runs = new RunRegistry({ acquireSlot });
  const options = { turnMs: 5_000, signal: new AbortController().signal };
  const calls = Array.from({ length: 8 }, async (_, index) => {
    const { runId } = await startRun(runs, session as unknown as Session, `${index}`, options);
    session.end();
    await runs.wait(runId);
  });
  await Promise.all(calls);
  expect(session.started.length).toBe(8);
  expect({ taken, most }).toEqual({ taken: 0, most: 1 });
});
