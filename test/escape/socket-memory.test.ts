import { afterAll, beforeAll, expect, test } from "vitest";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import type { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { describeAttacks, everyLayout, openCells, run, sharedKernelTiers, within } from "../support/process-cells.ts";

const policy = { proc: { timeout: "20s", memory: "64MiB", disk: "16MiB" } } as const;

/** Queues up to 400 MiB that nobody reads. If it could, it holds them long enough for every limit to notice. */
const attack = (open: string, count = 400) => `
import socket, time
held, queued, stuck = [], 0, 0
def fill(one, chunk=bytes(1 << 18)):
    global queued
    one.setblocking(False)
    for pause in (0, 0.001, 0.002, 0.004):
        time.sleep(pause)
        try:
            while queued < 400 << 20: queued += one.send(chunk)
        except OSError: pass
def connected(server):
    held.append(socket.create_connection(server.getsockname(), timeout=0.1))
    return held[-1]
try:
    for number in range(${count}):
        before = queued
        ${open}
        stuck = stuck + 1 if queued - before < 65536 else 0
        if queued >= 400 << 20 or stuck > 3: break
except OSError: pass
end = time.monotonic() + 10
while queued >= 256 << 20 and time.monotonic() < end: time.sleep(0.01)
print(queued >> 20)`;

const unaccepted = [
  "TCP connections that nobody accepts",
  attack(`if number % 50 == 0:
            server = socket.socket(); server.setsockopt(1, 8, 1 << 22); server.bind(('127.0.0.1', 0)); server.listen(100); held.append(server)
        fill(connected(server))`),
] as const;

const attacks: readonly (readonly [string, string])[] = [
  unaccepted,
  [
    "connected TCP sockets",
    attack(
      "server = socket.create_server(('127.0.0.1', 0)); fill(connected(server)); held.append(server.accept()[0]); fill(held[-1])",
    ),
  ],
  [
    "UDP sockets that nobody reads",
    attack(
      "server = socket.socket(2, 2); server.setsockopt(1, 8, 1 << 22); server.bind(('127.0.0.1', 0)); one = socket.socket(2, 2); one.connect(server.getsockname()); held += [server, one]\n        for _ in range(60): one.send(bytes(60000))\n        queued += int.from_bytes(server.getsockopt(1, 55, 4), 'little')",
    ),
  ],
  [
    "Unix sockets, whose writing ends are closed",
    attack("pair = socket.socketpair(); pair[0].setsockopt(1, 7, 1 << 22); fill(pair[0]); held.append(pair[1])"),
  ],
];

describeAttacks(
  everyLayout,
  "the memory of socket buffers in the $name",
  (layout) => {
    let codecell: LiveSessions;
    let session: LiveSession;
    beforeAll(async () => {
      codecell = await openCells(layout, policy);
      session = await codecell.openSession();
    });
    afterAll(() => codecell?.close());

    // other layouts use the same cgroups and the same watchdog
    const fitting = layout.options.layout === "template" ? attacks : [unaccepted];
    test.each(fitting)("is limited for %s, and the next run works", async (_, code) => {
      const result = await within(30_000, run(session, code));
      if (result.status === "ok") expect(Number(result.stdout)).toBeLessThan(256);
      else expect(result).toMatchObject({ status: "out_of_memory" });
      expect(await within(15_000, run(session, "40 + 2"))).toMatchObject({ status: "ok", value: "42" });
    });
  },
  sharedKernelTiers,
);
