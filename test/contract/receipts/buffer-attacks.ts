import { expect } from "vitest";
import type { Attack } from "./attacked.ts";

/** Queues data in connections to itself that nobody accepts, for as long as it can: no process and no cgroup counts it. */
const queueing = `
import socket, time
held, queued, server = [], 0, None
try:
    while queued < 2 * LIMIT:
        if len(held) % 50 == 0:
            server = socket.create_server(("127.0.0.1", 0), backlog=100); held.append(server)
        one = socket.create_connection(server.getsockname(), timeout=0.3); held.append(one); one.setblocking(False)
        try:
            while queued < 2 * LIMIT: queued += one.send(bytes(1 << 18))
        except BlockingIOError: pass
except OSError: pass
end = time.monotonic() + 10
while queued >= LIMIT and time.monotonic() < end: time.sleep(0.01)
print(queued)`;

/** The same attack, and then one by socket buffers: they count, or the row has a figure for them, and the run is ended over it. */
export function buffersHeldToo(attack: Attack): Attack {
  return async (attacked) => {
    await attack(attacked);
    const { fresh, policy, row } = attacked;
    const named = /more than (\d+)MiB in them/.exec(row.how)?.[1];
    const limit = named === undefined ? policy.proc.memoryBytes : Number(named) * 2 ** 20;
    const session = await fresh();
    const most = limit + 2 ** 26; // the watchdog's figure includes the interpreter
    const result = await session.run(queueing.replaceAll("LIMIT", String(most)));
    // without enough files it cannot hold as much
    if (result.status === "ok") expect(Number(result.stdout)).toBeLessThan(most);
    else expect(result).toMatchObject({ status: "out_of_memory" });
    await session.close();
  };
}
