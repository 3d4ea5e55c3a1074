import { describe, expect, test } from "vitest";
import { fakeResult } from "../../../test/fakes/fake-result.ts";
import { CodecellError } from "../../lib/errors.ts";
import { Run, type RunEvent, type RunProgress, type RunResult } from "./run.ts";

/** A run whose work the test does. */
function newRun() {
  let progress: RunProgress | undefined;
  let end = { resolve(_: RunResult) {}, reject(_: unknown) {} };
  const run = new Run((given) => {
    progress = given;
    return new Promise((resolve, reject) => {
      end = { resolve, reject };
    });
  });
  if (!progress) throw new Error("the work did not begin at once");
  return { run, progress, end };
}

async function eventsOf(run: Run): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const event of run) events.push(event);
  return events;
}

describe("a run", () => {
  test("a run is a promise of its result", async () => {
    const { run, end } = newRun();
    end.resolve(fakeResult({ value: "42" }));
    expect(await run).toMatchObject({ status: "ok", value: "42" });
    expect(await run.then(({ status }) => status)).toBe("ok");
    await expect(Promise.all([run])).resolves.toMatchObject([{ value: "42" }]);
  });

  test("the log of a streamed run keeps no text that its reader has read", async () => {
    const { run, progress, end } = newRun();
    progress.log.forgetWhatIsRead();
    progress.log.push({ type: "stdout", text: "a" });
    progress.log.push({ type: "display", display: 1, mime: "image/png", data: Buffer.from("png") });
    const reader = eventsOf(run);
    end.resolve(fakeResult());
    expect(await reader).toMatchObject([{ text: "a" }, { mime: "image/png", data: Buffer.from("png") }]);
    expect(progress.log.text("stdout")).toBe("");
    expect(progress.log.displays()[0]?.data.byteLength).toBe(0);
  });

  test("a run gives every reader all of its events, even a reader that starts after the end", async () => {
    const { run, progress, end } = newRun();
    const early = eventsOf(run);
    progress.log.push({ type: "stdout", text: "a" });
    progress.log.push({ type: "stderr", text: "b" });
    end.resolve(fakeResult());
    const all = [
      { type: "stdout", text: "a" },
      { type: "stderr", text: "b" },
    ];
    expect(await early).toEqual(all);
    expect(await eventsOf(run)).toEqual(all);
  });

  test("a refused run rejects and makes its iteration throw, so that no events do not look like success", async () => {
    const { run, end } = newRun();
    const busy = new CodecellError("session_busy", "another run is running");
    end.reject(busy);
    await expect(run).rejects.toBe(busy);
    await expect(eventsOf(run)).rejects.toBe(busy);
    await expect(run.accepted()).rejects.toBe(busy);
  });

  test("a run that fails while nobody reads it causes no unhandled rejection", async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown) => unhandled.push(error);
    process.on("unhandledRejection", note);
    try {
      newRun().end.reject(new Error("nobody looks"));
      await new Promise((resolve) => setImmediate(resolve));
      expect(unhandled).toEqual([]);
    } finally {
      process.off("unhandledRejection", note);
    }
  });

  test("a run is interrupted if the interrupt comes before the session accepts it", async () => {
    const { run, progress } = newRun();
    let interrupts = 0;
    run.interrupt();
    progress.accepted(() => {
      interrupts++;
    });
    expect(interrupts).toBe(1);
    await run.accepted();
    run.interrupt();
    expect(interrupts).toBe(2);
  });

  test("an interrupt after the end of a run does nothing", async () => {
    const { run, progress, end } = newRun();
    let interrupts = 0;
    progress.accepted(() => {
      interrupts++;
    });
    end.resolve(fakeResult());
    await run;
    run.interrupt();
    await run[Symbol.asyncDispose]();
    expect(interrupts).toBe(0);
  });
});
