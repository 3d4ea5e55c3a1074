import { describe, expect, test } from "vitest";
import { bothLayouts, openCells, run, skipsProcess } from "../support/process-cells.ts";

/** Sends signals in a tight loop while a timer interrupts it, until the timer has fired often. */
const program = `
import os, signal, threading, time
fired = 0
def count(*_):
    global fired
    fired += 1
signal.signal(signal.SIGALRM, count)
signal.signal(signal.SIGUSR1, lambda *_: None)
calls = (
    lambda: os.kill(os.getpid(), signal.SIGUSR1),
    lambda: os.killpg(os.getpgid(0), 0),
    lambda: signal.pthread_kill(threading.get_ident(), signal.SIGUSR1),
    lambda: signal.raise_signal(signal.SIGUSR1),
)
failed = set()
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
for at, call in enumerate(calls):
    while fired < 300 * (at + 1):
        try: call()
        except InterruptedError: failed.add(at)
signal.setitimer(signal.ITIMER_REAL, 0)
failed`;

describe.skipIf(skipsProcess)("signals that a program sends", () => {
  test.each(bothLayouts)("are sent although other signals arrive meanwhile: $name", async (layout) => {
    await using codecell = await openCells(layout);
    await using session = await codecell.openSession();
    expect(await run(session, program)).toMatchObject({ status: "ok", value: "set()" });
  });

  test.each(bothLayouts)("keep their names, errors and pickles: $name", async (layout) => {
    await using codecell = await openCells(layout);
    await using session = await codecell.openSession();
    const code = `
import inspect, os, pickle
assert pickle.loads(pickle.dumps(os.kill)) is os.kill
[os.kill.__name__, len(inspect.signature(os.kill).parameters)]`;
    expect(await run(session, code)).toMatchObject({ value: "['kill', 2]" });
    const missing = await run(session, "os.kill(99999, 0)");
    expect(missing.error).toMatchObject({ name: "ProcessLookupError" });
    expect(missing.error?.traceback).not.toContain("signal_calls");
  });
});
