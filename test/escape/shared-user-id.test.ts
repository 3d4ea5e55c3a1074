import { chown, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { mountableDirectory } from "../support/host-mounts.ts";
import {
  bothLayouts,
  describeAttacks,
  hostProcesses,
  idle,
  openCells,
  run,
  sharedKernelTiers,
  within,
} from "../support/process-cells.ts";

/** Leaves as many descriptors in the queues of sockets as the Linux kernel lets this user have. */
const fillQueues = `import os, socket
held = []
passed = [os.open("/dev/null", os.O_RDONLY)] * 250
in_flight = 0
try:
    for _ in range(8):
        held.append(socket.socketpair())
        socket.send_fds(held[-1][0], [b"x"], passed)
        in_flight += len(passed)
except OSError as error:
    print(error.errno)
in_flight`;

const passOne = `import os, socket
ours, theirs = socket.socketpair()
socket.send_fds(ours, [b"x"], [0])
len(socket.recv_fds(theirs, 1, 1)[1])`;

describeAttacks(
  bothLayouts,
  "descriptors in flight in the $name",
  (layout) => {
    let codecell: LiveSessions;
    beforeAll(async () => {
      codecell = await openCells(layout, { proc: { timeout: "10s" } });
    });
    afterAll(() => codecell?.close());

    test("do not stop another session of the policy from starting and from passing its own", async () => {
      await using other = await codecell.openSession();
      await run(other, "x = 'kept'");
      await using greedy = await codecell.openSession();
      expect(Number((await run(greedy, fillQueues)).value)).toBeGreaterThan(1_000);
      await using next = await within(10_000, codecell.openSession());
      expect(await within(10_000, run(next, passOne))).toMatchObject({ status: "ok", value: "1" });
      expect(await within(10_000, run(other, passOne))).toMatchObject({ status: "ok", value: "1" });
    });

    test.skipIf(process.getuid?.() !== 0)(
      "are counted per cell, because no two cells have the same user id",
      async () => {
        await using one = await codecell.openSession();
        await using other = await codecell.openSession();
        await run(one, "open('/proc/self/comm', 'w').write('own-uid-one')");
        await run(other, "open('/proc/self/comm', 'w').write('own-uid-other')");
        const users = hostProcesses().filter(({ status }) => status.Name?.startsWith("own-uid-"));
        expect(new Set(users.map(({ uid }) => uid)).size).toBe(2);
        expect(users.map(({ uid }) => uid)).not.toContain(0);
      },
    );

    test("do not stop the supervisor of the same session from forking it and from recovering it", async () => {
      await using greedy = await codecell.openSession();
      await run(greedy, "x = 'kept'");
      await run(greedy, fillQueues);
      await using fork = await within(10_000, greedy.fork("fork"));
      expect(await within(10_000, run(fork, "x"))).toMatchObject({ status: "ok", value: "'kept'" });
      await idle();
      expect(await within(10_000, run(greedy, "import os\nos._exit(1)"))).toMatchObject({ status: "crashed" });
      expect(await within(10_000, run(greedy, "x"))).toMatchObject({ status: "ok", value: "'kept'" });
      await within(10_000, greedy.reset());
      expect(await within(10_000, run(greedy, "40 + 2"))).toMatchObject({ status: "ok", value: "42" });
    });
  },
  sharedKernelTiers,
);

describeAttacks(
  bothLayouts,
  "descriptors in flight of a user whom cells share, in the $name",
  (layout) => {
    let directory: string;
    let codecell: LiveSessions;
    beforeAll(async () => {
      directory = await mkdtemp(join(mountableDirectory, "codecell-shared-"));
      // root starts cells as the owner of the directory that they write
      if (process.getuid?.() === 0) await chown(directory, 54_321, 54_321);
      codecell = await openCells(layout, { fs: { workspace: directory } });
    });
    afterAll(async () => {
      await codecell?.close();
      await rm(directory, { recursive: true, force: true });
    });

    test("do not stop another session from starting, running and being forked", async () => {
      await using other = await codecell.openSession();
      await run(other, "x = 'kept'");
      await using greedy = await codecell.openSession();
      expect(Number((await run(greedy, fillQueues)).value)).toBeGreaterThan(1_000);
      await using next = await within(10_000, codecell.openSession());
      expect(await within(10_000, run(next, "40 + 2"))).toMatchObject({ status: "ok", value: "42" });
      await using fork = await within(10_000, other.fork("fork"));
      expect(await within(10_000, run(fork, "x"))).toMatchObject({ status: "ok", value: "'kept'" });
    });
  },
  [],
);
