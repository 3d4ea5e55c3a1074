import { describe, expect, test } from "vitest";
import { FakeClock } from "../../../test/fakes/fake-clock.ts";
import { FakeRunner } from "../../../test/fakes/fake-runner.ts";
import { FakeSession } from "../../../test/fakes/fake-session.ts";
import { CodecellError } from "../../lib/errors.ts";
import { parsePolicy } from "../../policy/file/parse-policy.ts";
import { LiveSessions } from "../../sessions/live-sessions.ts";
import type { NumberedEvent } from "../../sessions/runs/run-log.ts";
import { renderShaped } from "../output/shape-output.ts";
import { RunRegistry, type RunRegistryOptions } from "./run-registry.ts";

function setUp(options: RunRegistryOptions = {}) {
  const clock = new FakeClock();
  return { clock, session: new FakeSession(), runs: new RunRegistry({ clock, ...options }) };
}

async function collect(events: AsyncIterable<NumberedEvent>): Promise<NumberedEvent[]> {
  const all: NumberedEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

const gone = expect.objectContaining({ code: "run_gone" });

describe("starting a run", () => {
  test("returns an unguessable id at once", () => {
    const { session, runs } = setUp();
    const handle = runs.start(session, "work()", { timeout: 5 });
    expect(handle).toMatchObject({ sessionId: "fake", status: "running", isCancelled: false, nextOffset: 0 });
    expect(handle.runId).toMatch(/^run_[\w-]{16}$/);
    expect(session.last).toMatchObject({ code: "work()", options: { timeout: 5 } });
  });

  test("throws the session's error and registers nothing", () => {
    const { runs } = setUp();
    const busy = new CodecellError("session_busy", "busy");
    const refuse = () => {
      throw busy;
    };
    expect(() => runs.start({ id: "s", run: refuse }, "")).toThrow(busy);
    expect(runs.list()).toEqual([]);
  });
});

describe("the run registry", () => {
  test("follows a run that was started elsewhere, and cancels it with that run's own signal", async () => {
    const { session, runs } = setUp();
    const cancelling = new AbortController();
    const started = session.run("work()", { signal: cancelling.signal });
    const { runId } = runs.follow("elsewhere", started, cancelling);
    runs.cancel(runId);
    expect(cancelling.signal.aborted).toBe(true);
    session.last.end({ status: "cancelled" });
    expect(await runs.wait(runId)).toMatchObject({ status: "cancelled" });
  });

  test("tells what a run executes, of long code the beginning", () => {
    const { session, runs } = setUp();
    expect(runs.start(session, "x = 1").program).toEqual({ code: "x = 1", isCodeCut: false, language: "python" });
    session.last.end();
    const { program } = runs.start(session, "#".repeat(20_000), { language: "bash" });
    expect(program).toEqual({ code: "#".repeat(16_384), isCodeCut: true, language: "bash" });
  });

  test("lists the running runs of one session only", async () => {
    const { session, runs } = setUp();
    const ended = runs.start(session, "one");
    session.last.end();
    await runs.wait(ended.runId);
    const { runId } = runs.start(session, "two");
    expect(runs.running(session.id).map((run) => run.runId)).toEqual([runId]);
    expect(runs.running("another")).toEqual([]);
  });
});

describe("waiting for a run", () => {
  test("returns the result if the run ends before the timeout", async () => {
    const { clock, session, runs } = setUp();
    const { runId } = runs.start(session, "");
    const waited = runs.wait(runId, { timeoutMs: 100 });
    session.last.print("done\n");
    session.last.end({ value: "42" });
    expect(await waited).toMatchObject({ status: "ok", value: "42", stdout: "done\n" });
    expect(clock.waiting).toBe(0);
  });

  test("returns the output so far if the timeout passes first", async () => {
    const { clock, session, runs } = setUp();
    const { runId } = runs.start(session, "");
    session.last.print(" 10%\r");
    session.last.print(" 20%\r");
    session.last.print("careful\n", "stderr");
    const waited = runs.wait(runId, { timeoutMs: 100 });
    await printed(runs, runId, 3);
    clock.pass(100);
    expect(await waited).toMatchObject({
      status: "running",
      runId,
      elapsedMs: 100,
      nextOffset: 3,
      outputSoFar: {
        sections: [
          { name: "stdout", text: " 20%" },
          { name: "stderr", text: "careful\n" },
        ],
      },
    });
    session.last.end();
    expect(await runs.wait(runId)).toMatchObject({ status: "ok" });
  });

  test("truncates the output so far to the budget", async () => {
    const { clock, session, runs } = setUp();
    const { runId } = runs.start(session, "");
    session.last.print("x".repeat(50_000));
    await printed(runs, runId, 1);
    const waited = runs.wait(runId, { timeoutMs: 0, budget: { characters: 3_000 } });
    clock.pass(0);
    const answer = await waited;
    expect(answer.status === "running" && renderShaped(answer.outputSoFar).length).toBeLessThanOrEqual(3_000);
  });

  test("stops when the caller's signal is aborted, and the run is still running", async () => {
    const { clock, session, runs } = setUp();
    const { runId } = runs.start(session, "");
    const caller = new AbortController();
    const waited = runs.wait(runId, { timeoutMs: 100, signal: caller.signal });
    caller.abort();
    await expect(waited).rejects.toMatchObject({ code: "aborted" });
    await expect(runs.wait(runId, { signal: caller.signal })).rejects.toMatchObject({ code: "aborted" });
    expect(clock.waiting).toBe(0);
    expect(session.last.interrupts).toBe(0);
    expect(runs.status(runId).status).toBe("running");
  });

  test("throws if codecell itself failed, and so does watching it", async () => {
    const { session, runs } = setUp();
    const { runId } = runs.start(session, "");
    session.last.print("before\n");
    session.last.fail(new CodecellError("internal", "broken"));
    await expect(runs.wait(runId)).rejects.toMatchObject({ code: "internal" });
    await expect(collect(runs.watch(runId))).rejects.toMatchObject({ code: "internal" });
    expect(runs.status(runId).status).toBe("failed");
  });
});

describe("watching a run", () => {
  test("gives every reader all past and future events from any offset", async () => {
    const { session, runs } = setUp();
    const { runId } = runs.start(session, "");
    session.last.print("a");
    const all = collect(runs.watch(runId));
    const later = collect(runs.watch(runId, 1));
    session.last.print("b");
    session.last.emit({ type: "display", display: 1, mime: "image/png", data: new Uint8Array(2) });
    session.last.end();
    const events = await all;
    expect(events.map(({ offset, event }) => [offset, event.type])).toEqual([
      [0, "stdout"],
      [1, "stdout"],
      [2, "display"],
      [3, "end"],
    ]);
    expect(events.at(-1)?.event).toEqual({ type: "end", status: "ok" });
    expect(await later).toEqual(events.slice(1));
    expect(await collect(runs.watch(runId, 2))).toEqual(events.slice(2));
    expect(await collect(runs.watch(runId, 4))).toEqual([]);
  });

  test("stops without an end event when the reader's signal is aborted", async () => {
    const { session, runs } = setUp();
    const { runId } = runs.start(session, "");
    const reader = new AbortController();
    session.last.print("a");
    const events = collect(runs.watch(runId, 0, { signal: reader.signal }));
    await printed(runs, runId, 1);
    reader.abort();
    expect((await events).map(({ event }) => event.type)).toEqual(["stdout"]);
    expect(session.last.interrupts).toBe(0);
  });

  test.each([-1, 0.5, Number.NaN])("rejects the offset %d", (offset) => {
    const { session, runs } = setUp();
    const { runId } = runs.start(session, "");
    expect(() => runs.watch(runId, offset)).toThrow(expect.objectContaining({ code: "usage" }));
  });
});

describe("stopping a run", () => {
  test("interrupts it only while it is still running", async () => {
    const { session, runs } = setUp();
    const { runId } = runs.start(session, "");
    runs.interrupt(runId);
    expect(session.last.interrupts).toBe(1);
    session.last.end({ status: "interrupted" });
    await runs.wait(runId);
    expect(runs.interrupt(runId)).toMatchObject({ status: "interrupted", isCancelled: false });
    expect(session.last.interrupts).toBe(1);
  });

  test("by cancel interrupts it, and interrupts it again after the grace period", () => {
    const { clock, session, runs } = setUp();
    const { runId } = runs.start(session, "");
    expect(runs.cancel(runId, { graceMs: 50 })).toMatchObject({ status: "running", isCancelled: true });
    runs.cancel(runId);
    expect(session.last.interrupts).toBe(1);
    clock.pass(49);
    expect(session.last.interrupts).toBe(1);
    clock.pass(1);
    expect(session.last.interrupts).toBe(2);
    expect(clock.waiting).toBe(0);
  });

  test("by cancel does not interrupt it again if it ends within the grace period", async () => {
    const { clock, session, runs } = setUp();
    const { runId } = runs.start(session, "");
    runs.cancel(runId);
    session.last.end({ status: "cancelled" });
    await runs.wait(runId);
    clock.pass(60_000);
    expect(session.last.interrupts).toBe(1);
    expect(runs.cancel(runId)).toMatchObject({ status: "cancelled" });
  });
});

describe("the registry of ended runs", () => {
  async function finished(runs: RunRegistry, session: FakeSession, text = ""): Promise<string> {
    const { runId } = runs.start(session, "");
    if (text) session.last.print(text);
    session.last.end();
    await runs.wait(runId);
    return runId;
  }

  test("keeps a result for 15 minutes, then reports run_gone", async () => {
    const { clock, session, runs } = setUp();
    const runId = await finished(runs, session);
    clock.pass(15 * 60_000 - 1);
    expect(await runs.wait(runId)).toMatchObject({ status: "ok" });
    clock.pass(1);
    await expect(runs.wait(runId)).rejects.toEqual(gone);
    for (const use of [() => runs.watch(runId), () => runs.interrupt(runId), () => runs.cancel(runId)]) {
      expect(use).toThrow(gone);
    }
    await expect(runs.wait(runId)).rejects.toMatchObject({ hint: expect.stringContaining("15 min") });
  });

  test("never removes a run that is still running", () => {
    const { clock, session, runs } = setUp();
    const { runId } = runs.start(session, "");
    clock.pass(24 * 3_600_000);
    expect(runs.status(runId)).toMatchObject({ status: "running", elapsedMs: 24 * 3_600_000 });
  });

  test("removes the oldest ended runs beyond keepRuns", async () => {
    const { session, runs } = setUp({ keepRuns: 2 });
    const ids = [await finished(runs, session), await finished(runs, session), await finished(runs, session)];
    expect(runs.list().map((run) => run.runId)).toEqual(ids.slice(1));
    expect(() => runs.status(ids[0] ?? "")).toThrow(gone);
  });

  test("removes the oldest ended runs beyond keepBytes, but always keeps the last one", async () => {
    const { session, runs } = setUp({ keepBytes: 10_000 });
    const small = await finished(runs, session, "x".repeat(1_000));
    const alsoSmall = await finished(runs, session, "x".repeat(1_000));
    expect(runs.list().map((run) => run.runId)).toEqual([small, alsoSmall]);
    const large = await finished(runs, session, "x".repeat(100_000));
    expect(runs.list().map((run) => run.runId)).toEqual([large]);
  });

  test("lists the runs of one session", async () => {
    const { session, runs } = setUp();
    const other = runs.start(new FakeSession("other"), "");
    const ended = await finished(runs, session);
    expect(runs.list().map((run) => run.runId)).toEqual([ended, other.runId]);
    expect(runs.list({ sessionId: "other" }).map((run) => run.runId)).toEqual([other.runId]);
  });
});

test("a run of a real session can be watched and cancelled, and its status is then cancelled", async () => {
  const runner = new FakeRunner({
    program: async (cell) => {
      cell.print("stdout", "working\n");
      await cell.interrupted;
      return { status: "interrupted" };
    },
  });
  await using codecell = await LiveSessions.open({ policy: parsePolicy({}), runners: [runner] });
  await using session = await codecell.openSession();
  const runs = new RunRegistry();
  const { runId } = runs.start(session, "while True: pass");
  await printed(runs, runId, 1);
  runs.cancel(runId);
  expect(await runs.wait(runId)).toMatchObject({ status: "cancelled", stdout: "working\n" });
  expect(runs.status(runId).status).toBe("cancelled");
});

/** Waits until the run has `count` events. */
async function printed(runs: RunRegistry, runId: string, count: number): Promise<void> {
  for await (const { offset } of runs.watch(runId)) if (offset + 1 >= count) return;
}
