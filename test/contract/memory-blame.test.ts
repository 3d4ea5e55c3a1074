import { describe, expect, test } from "vitest";
import { bothLayouts, hasMemoryGroup, openCells, run, skipsProcess, withoutGroups } from "../support/process-cells.ts";

const memory = "192MiB";
/** The group's limit includes files in memory. A small one is full sooner, on a machine where new pages are slow. */
const disk = "16MiB";

describe.skipIf(skipsProcess)("the memory limit", () => {
  test.skipIf(!hasMemoryGroup).each(bothLayouts)(
    "is not blamed for a crash after a memory kill between two runs: $name",
    async (layout) => {
      await using codecell = await openCells(layout, { proc: { memory, disk } });
      await using session = await codecell.openSession();
      const later = `
import os, threading, time
def wait():
    while not os.path.exists("/workspace/go"): time.sleep(0.01)
    bytearray(1 << 30)
threading.Thread(target=wait).start()`;
      expect((await run(session, later)).status).toBe("ok");
      await session.files?.write("go", Buffer.from(""), { maxBytes: 1 });
      await expect.poll(async () => (await session.usage()).oomKills).toBeGreaterThan(0);
      await expect.poll(() => session.losses.isUnseen).toBe(true); // or the kill would end the next run
      expect((await run(session, "1")).notes.join(" ")).toContain("between two runs");
      expect((await run(session, "import os\nos.kill(os.getpid(), 9)")).status).toBe("crashed");
      expect((await run(session, "bytearray(1 << 30)")).status).toBe("out_of_memory");
    },
  );

  test.skipIf(!hasMemoryGroup).each(bothLayouts)(
    "is not blamed for a crash after a memory kill of a child process: $name",
    async (layout) => {
      await using codecell = await openCells(layout, { proc: { memory, disk } });
      await using session = await codecell.openSession();
      const hungryChild = `
import os, signal
if (pid := os.fork()) == 0:
    open("/proc/self/oom_score_adj", "w").write("1000")
    bytearray(1 << 30)
    os._exit(0)
status = os.waitpid(pid, 0)[1]
status`;
      expect(await run(session, hungryChild)).toMatchObject({ status: "ok", value: "9" });
      expect((await session.usage()).oomKills).toBeGreaterThan(0);
      expect((await run(session, "os.kill(os.getpid(), 9)")).status).toBe("crashed");
      const sameRun = `${hungryChild}\nos.kill(os.getpid(), signal.SIGSEGV)`;
      expect((await run(session, sameRun)).status).toBe("crashed");
      expect((await run(session, "bytearray(1 << 30)")).status).toBe("out_of_memory");
    },
  );

  test("counts pages that forks share once, where the supervisor watches it", async () => {
    await using codecell = await openCells(withoutGroups, { proc: { memory, pids: 100 } });
    await using session = await codecell.openSession();
    const result = await run(
      session,
      `
import os, time
data = bytearray(b"x") * (20 << 20)
children = []
for _ in range(50):
    pid = os.fork()
    if pid == 0:
        time.sleep(30)
        os._exit(0)
    children.append(pid)
time.sleep(1)
for pid in children: os.kill(pid, 9)
len(children)`,
    );
    expect([result.status, result.value]).toEqual(["ok", "50"]);
    const bomb = await run(
      session,
      `
import os, time
for _ in range(20):
    if os.fork() == 0:
        mine = bytearray(b"y") * (20 << 20)
        time.sleep(30)
        os._exit(0)
time.sleep(10)`,
    );
    expect(bomb.status).toBe("out_of_memory");
  });
});
