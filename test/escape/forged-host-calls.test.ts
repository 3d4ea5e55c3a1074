import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import { Codecell } from "../../src/sessions/codecell.ts";
import type { Session } from "../../src/sessions/session.ts";
import { skipsProcess } from "../support/process-cells.ts";

/** Finds the worker in its own memory, as any program in a cell can: then it can send whatever it likes to the supervisor. */
const findWorker = "import gc\nworker = next(one for one in gc.get_objects() if type(one).__name__ == 'Worker')\n";

describe.skipIf(skipsProcess)("a program that forges calls to the host", () => {
  let codecell: Codecell;
  let session: Session;
  let received: unknown[];
  beforeAll(async () => {
    const policy = parsePolicy({ proc: { timeout: "20s", memory: "512MiB" } });
    codecell = await Codecell.open({ policy, runners: [processRunner()] });
    session = await codecell.session();
    received = [];
    await session.expose({
      note: {
        description: "Notes a value.",
        input: { type: "object", properties: { value: {} }, required: ["value"] },
        call: ({ value }) => {
          received.push(value);
          return value;
        },
      },
      hang: {
        description: "Never answers.",
        input: { type: "object", properties: {} },
        call: () => new Promise(() => {}),
      },
    });
    await session.run(findWorker);
  });
  afterAll(() => codecell?.close());

  /** The session is the same one as before, and calls still work. */
  const expectHealthy = async () => {
    expect(await session.run("note('still here')")).toMatchObject({
      status: "ok",
      state: "kept",
      value: "'still here'",
    });
  };

  test("cannot break the supervisor with malformed headers", async () => {
    const code = [
      "bad = [None, -1, 1.5, 'x', [], {}, 1 << 70, True]",
      "for one in bad:",
      "    worker.send({'t': 'call', 'call': one, 'name': 'note', 'size': 2}, b'{}')",
      "    worker.send({'t': 'call', 'call': 1 << 40, 'name': one, 'size': 2}, b'{}')",
      "    worker.send({'t': 'call', 'call': 1 << 41, 'name': 'note', 'size': one}, b'{}')",
      "    worker.send({'t': 'reply', 'id': one, 'ok': True})",
      "    worker.send({'t': 'forked', 'pid': one, 'forks': one})",
      "worker.send({'t': 'call', 'call': 7 << 40, 'name': 'note', 'size': 1}, b'{}')",
      "worker.send({'t': 'call', 'call': 8 << 40}, b'{}')",
      "worker.send({'t': 'call.credit', 'bytes': 1 << 40})",
      "worker.send({'t': 'answer', 'call': 1, 'ok': True, 'size': 0})",
    ].join("\n");
    expect(await session.run(code)).toMatchObject({ status: "ok", state: "kept" });
    await expectHealthy();
  });

  test("cannot fill the host's memory with calls whose answers it never reads", async () => {
    const before = process.memoryUsage();
    const code = [
      "data = b'{\"value\": \"' + b'x' * 100_000 + b'\"}'",
      "for at in range(3000):",
      "    worker.send({'t': 'call', 'call': (1 << 30) + at, 'name': 'note', 'size': len(data)}, data)",
    ].join("\n");
    expect(await session.run(code)).toMatchObject({ status: "ok", state: "kept" });
    received.length = 0;
    const after = process.memoryUsage();
    expect(after.external + after.heapUsed - before.external - before.heapUsed).toBeLessThan(128 * 1024 * 1024);
    await expectHealthy();
  });

  test("gets no more than the open calls that the protocol allows", async () => {
    const code = [
      "for at in range(500):",
      "    worker.send({'t': 'call', 'call': (2 << 30) + at, 'name': 'hang', 'size': 2}, b'{}')",
      "try:",
      "    note(1)",
      "except Exception as error:",
      "    print(error)",
    ].join("\n");
    expect((await session.run(code)).stdout).toBe("more than 64 calls to the host are open\n");
    await expectHealthy();
  });

  test("cannot call the host after its run, and does not disturb the data that the host sends then", async () => {
    const code = [
      "import threading, time",
      "failures = set()",
      "def bother():",
      "    end = time.monotonic() + 2",
      "    while time.monotonic() < end:",
      "        try:",
      "            note('late')",
      "        except Exception as error:",
      "            failures.add(str(error))",
      "received_before = True",
      "threads = [threading.Thread(target=bother) for _ in range(4)]",
    ].join("\n");
    await session.run(code);
    await session.run("for one in threads: one.start()");
    received.length = 0;
    const value = "0123456789".repeat(2_000_000);
    for (let round = 0; round < 3; round++) await session.set("value", value);
    expect(received).not.toContain("late");
    expect((await session.run("for one in threads: one.join()\nvalue == '0123456789' * 2_000_000")).value).toBe("True");
    expect((await session.run("sorted(failures)")).value).toContain(
      "the host can be called only while a run is active",
    );
    await expectHealthy();
  });

  test("cannot use a forked process to steal answers from another session", async () => {
    const other = await codecell.session();
    await other.expose({ secret: { description: "s", input: { type: "object" }, call: () => "for the other one" } });
    const code = [
      "import os",
      "child = os.fork()",
      "if child == 0:",
      "    try: print(os.read(worker.requests, 100))",
      "    finally: os._exit(0)",
    ].join("\n");
    const [stolen, asked] = await Promise.all([session.run(code), other.run("secret()")]);
    expect(stolen.stdout).not.toContain("for the other one");
    expect(asked.value).toBe("'for the other one'");
    await expectHealthy();
  });

  test("survives a worker that dies while the host still works on its call", async () => {
    await session.reset(); // without an older copy, the next run waits for a copy of this state
    await session.run("kept = 7");
    const code = "import threading, os, time\nthreading.Timer(0.3, lambda: os._exit(1)).start()\nhang()";
    expect(await session.run(code)).toMatchObject({ status: "crashed", state: "recovered" });
    expect((await session.run("kept, note(2)")).value).toBe("(7, 2)");
  });
});
