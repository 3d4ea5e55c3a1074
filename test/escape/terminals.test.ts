import { afterAll, beforeAll, expect, test } from "vitest";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import type { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { bothLayouts, describeAttacks, look, openCells, run, sharedKernelTiers } from "../support/process-cells.ts";

/** Takes terminals in several processes, because each may have only some of them, and says how many the cell has in the end. */
const takeMany = `import os, time
def take(count):
    held = []
    try:
        while len(held) < count: held.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
    except OSError: pass
    return held
def taken(): return len(os.listdir("/dev/pts")) - 1
done, tell = os.pipe()
for _ in range(3):
    if os.fork() == 0:
        held = take(100)
        os.write(tell, b"x")
        time.sleep(20)
        os._exit(0)
held = take(100)
told = 0
while told < 3: told += len(os.read(done, 3))
end = time.monotonic() + 10
while taken() > 64 and time.monotonic() < end: time.sleep(0.01)
print(taken())
for one in held: os.close(one)`;

describeAttacks(
  bothLayouts,
  "the terminals of all cells and containers, in the $name",
  (layout) => {
    let codecell: LiveSessions;
    let session: LiveSession;
    beforeAll(async () => {
      codecell = await openCells(layout, {});
      session = await codecell.openSession();
    });
    afterAll(() => codecell?.close());

    test("are not used up by one cell", async () => {
      const result = await run(session, takeMany);
      // the Linux kernel refuses the 65th, or the supervisor ends the run
      const isEnded = result.status === "crashed" && result.notes.join().includes("more than 64 terminals");
      expect(isEnded || Number(result.stdout) <= 64, JSON.stringify(result)).toBe(true);
      expect(await look(session, `import os\nprint(json.dumps(len(os.listdir("/dev/pts")) - 1))`)).toBeLessThanOrEqual(
        64,
      );
    });

    test("can be used by programs", async () => {
      const usual = `import os
pairs = [os.openpty() for _ in range(20)]
os.write(pairs[-1][1], b"x")
print(json.dumps(os.read(pairs[-1][0], 1).decode()))`;
      expect(await look(session, usual)).toBe("x");
    });
  },
  sharedKernelTiers,
);
