import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CodecellError } from "../../src/lib/errors.ts";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import type { LiveSessions } from "../../src/sessions/live-sessions.ts";
import {
  bothLayouts,
  eventually,
  type HostProcess,
  hostProcesses,
  idle,
  look,
  openCells,
  run,
  skipsProcess,
  within,
} from "../support/process-cells.ts";

/** A process of this session, found on the host by the name that it sets for itself. */
async function named(session: LiveSession, code: string): Promise<HostProcess> {
  const name = `f${Math.random().toString(36).slice(2, 12)}`;
  await look(session, `open("/proc/self/comm", "w").write("${name}")\n${code}\nprint(1)`);
  let found: HostProcess | undefined;
  await eventually(() => {
    found = hostProcesses().find(({ status }) => status.Name === name);
    return found !== undefined;
  });
  if (!found) throw new Error("the worker is not to be found");
  return found;
}

function parentOf({ status }: HostProcess): number {
  return Number(status.PPid);
}

describe.skipIf(skipsProcess).each(bothLayouts)("a fault in the $name", (layout) => {
  let codecell: LiveSessions;
  beforeAll(async () => {
    codecell = await openCells(layout, { proc: { timeout: "10s" } });
  });
  afterAll(() => codecell?.close());

  test("that kills the worker at any moment ends in a result, and the session stays usable", async () => {
    await using session = await codecell.openSession();
    for (let round = 0; round < 12; round++) {
      const worker = await named(session, `before = ${round}`);
      await idle(round % 3 === 0 ? 0 : 60);
      const going = session.run("print('on', flush=True)\nimport time\ntime.sleep(5)");
      await idle(Math.random() * 40);
      process.kill(worker.pid, "SIGKILL");
      const result = await within(15_000, going);
      if (result.status === "ok") continue; // it was killed between two runs
      expect(result).toMatchObject({ status: "crashed", notes: expect.arrayContaining([expect.any(String)]) });
      const next = await within(15_000, run(session, "'before' in globals() and before"));
      expect(next.status).toBe("ok");
      if (result.state === "recovered" && result.recoveredTo) expect(Number(next.value)).toBeLessThanOrEqual(round);
    }
  });

  test("that kills the supervisor ends in a result, and the next session works", async () => {
    const session = await codecell.openSession();
    const worker = await named(session, "");
    const going = session.run("import time\ntime.sleep(5)");
    await idle(30);
    process.kill(parentOf(worker), "SIGKILL");
    expect(await within(15_000, going)).toMatchObject({ status: "crashed", state: "lost" });
    expect(await eventually(() => !hostProcesses().some(({ pid }) => pid === worker.pid))).toBe(true);
    await within(10_000, session.close());
    await using next = await codecell.openSession();
    expect(await run(next, "40 + 2")).toMatchObject({ status: "ok", value: "42" });
  });

  // a template kills a stopped process at once; the direct layout takes some more seconds
  test.skipIf(layout.options.layout === "direct")(
    "that stops the supervisor does not block the caller longer than the time limit and its grace period",
    async () => {
      const session = await codecell.openSession();
      const worker = await named(session, "");
      const going = session.run("1 + 1", { timeoutMs: 500 });
      process.kill(parentOf(worker), "SIGSTOP");
      const result = await within(20_000, going);
      expect(["ok", "timeout"]).toContain(result.status);
      await within(15_000, session.close());
      expect(await eventually(() => !hostProcesses().some(({ pid }) => pid === worker.pid))).toBe(true);
    },
  );

  test("that kills the cell during a request causes an error with a code", async () => {
    const session = await codecell.openSession();
    const worker = await named(session, "");
    const answers = [
      session.get("__import__('time').sleep(5)"),
      session.set("big", Buffer.alloc(64 << 20)),
      session.variables(),
    ];
    await idle(10);
    process.kill(parentOf(worker), "SIGKILL");
    for (const answer of await within(15_000, Promise.allSettled(answers))) {
      if (answer.status === "rejected") expect(answer.reason).toBeInstanceOf(CodecellError);
    }
    await within(10_000, session.close());
  });
});

describe.skipIf(skipsProcess)("a template that is killed", () => {
  test("ends the runs of its sessions with results, leaves nothing behind, and is replaced for the next session", async () => {
    await using codecell = await openCells({ name: "", options: { layout: "template" } }, { proc: { timeout: "10s" } });
    const sessions = await Promise.all([codecell.openSession(), codecell.openSession()]);
    const workers = await Promise.all(sessions.map((session) => named(session, "")));
    const going = sessions.map((session) => session.run("import time\ntime.sleep(5)"));
    await idle(30);
    // worker, supervisor, template: the parent of a supervisor is the template's first process
    const supervisor = hostProcesses().find(({ pid }) => workers[0] && pid === parentOf(workers[0]));
    if (!supervisor) throw new Error("the supervisor is not to be found");
    process.kill(parentOf(supervisor), "SIGKILL");
    for (const run of going) expect(await within(15_000, run)).toMatchObject({ status: "crashed", state: "lost" });
    expect(
      await eventually(() => !hostProcesses().some(({ pid }) => workers.some((worker) => worker.pid === pid))),
    ).toBe(true);
    for (const session of sessions) await within(10_000, session.close());
    await using next = await codecell.openSession();
    expect(await run(next, "40 + 2")).toMatchObject({ status: "ok", value: "42" });
  });
});
