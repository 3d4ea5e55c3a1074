import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { SessionEgress } from "../../src/egress/process/session-egress.ts";
import { PassedListener } from "../../src/lib/passed-listener.ts";
import { descriptors, sockets } from "../support/descriptors.ts";
import { type LoopbackWeb, openLoopbackWeb } from "../support/loopback-web.ts";
import { carriers, fetching, NetworkedCells } from "../support/networked-cells.ts";
import { eventually, ownCells, run, skipsProcess } from "../support/process-cells.ts";
import { isThorough } from "../support/thorough.ts";

let web: LoopbackWeb;
beforeAll(async () => {
  web = await openLoopbackWeb();
});
afterAll(() => web.close());
afterEach(() => void vi.restoreAllMocks());

const served = () => ({ status: "ok", stdout: `GET good.example:${web.port}/\n` });

/** Streams use the cell's channel, which is the same in both layouts. */
const asked = carriers.filter(({ layout, carrier }) => isThorough || layout === "template" || carrier === "listener");

describe.skipIf(skipsProcess).each(asked)("a cell's connections, $name", (options) => {
  const { carrier } = options;
  let cells: NetworkedCells;
  beforeAll(async () => {
    cells = await NetworkedCells.open(web.port, options);
  });
  afterAll(() => cells?.[Symbol.asyncDispose]());

  test("are described in the receipt and follow the rules", async () => {
    await using session = await cells.codecell.openSession();
    const allowed = await run(session, fetching(web.port));
    expect(allowed).toMatchObject({ ...served(), receipt: { network: { carrier } } });
    const { how } = allowed.receipt.rules.find(({ rule }) => rule === "net.enabled") ?? {};
    expect(how).toMatch(carrier === "listener" ? /on the cell's own socket$/ : /on the cell's channel: .*streams$/);
    const refused = await run(session, 'import urllib.request\nurllib.request.urlopen("http://evil.example/")');
    expect(refused.error?.message).toContain("HTTP Error 403: codecell: evil.example is not in net.allowlist");
    expect(refused.egress).toMatchObject({ denied: [{ host: "evil.example", port: 80, requests: 1 }] });
  });

  test("survive crashes, rollbacks and forks", async () => {
    await using session = await cells.codecell.openSession();
    await session.checkpoint("here");
    expect(await run(session, "import os\nos.abort()")).toMatchObject({ status: "crashed", state: "recovered" });
    expect(await run(session, fetching(web.port))).toMatchObject(served());
    await session.rollback("here");
    await using fork = await session.fork("a-fork");
    const both = await Promise.all([session, fork].map((one) => run(one, fetching(web.port))));
    expect(both).toMatchObject([served(), served()]);
    await session[Symbol.asyncDispose]();
    expect(await run(fork, fetching(web.port))).toMatchObject(served());
  });

  test("carry no data into another session, even if clients hang up in the middle", async () => {
    await using rude = await cells.codecell.openSession();
    await using careful = await cells.codecell.openSession();
    const hangingUp = `
import socket
for _ in range(12):
    with socket.create_connection(("127.0.0.1", 3128)) as one:
        one.sendall(b"GET http://good.example:${web.port}/endless HTTP/1.1\\r\\nHost: good.example:${web.port}\\r\\n\\r\\n")
        one.recv(1000)`;
    const comparing = `
import random, urllib.request
for _ in range(4):
    data = random.randbytes(2 << 20)
    request = urllib.request.Request("http://good.example:${web.port}/echo", data=data)
    assert urllib.request.urlopen(request).read() == data`;
    const results = await Promise.all([run(rude, hangingUp), run(careful, comparing)]);
    expect(results.map(({ status, error }) => [status, error])).toEqual([
      ["ok", undefined],
      ["ok", undefined],
    ]);
  });

  test("leave no file descriptor open in the host or the proxy", async () => {
    await using first = await cells.codecell.openSession(); // starts the template and the proxy, which stay
    await run(first, fetching(web.port));
    await first.usage(); // opens the counters of its control groups, which stay open
    const { proxy } = cells; // found by looking at every process
    const count = () => [descriptors(process.pid).length, descriptors(proxy).length];
    const before = count();
    for (let round = 0; round < 3; round++) {
      const session = await cells.codecell.openSession();
      expect(await run(session, fetching(web.port))).toMatchObject(served());
      await session[Symbol.asyncDispose]();
    }
    expect(await eventually(() => count().every((now, index) => now <= (before[index] ?? 0)))).toBe(true);
  });

  if (carrier === "listener") describeSockets(() => cells);

  test("work again after their proxy was killed", async () => {
    await using session = await cells.codecell.openSession();
    for (let death = 0; death < 2; death++) {
      expect(await run(session, fetching(web.port))).toMatchObject(served());
      const { proxy } = cells;
      await cells.killProxy();
      // Where connections bypass the host, the proxy restarts without a request.
      if (carrier === "listener") expect(await eventually(() => isReplaced(cells, proxy))).toBe(true);
      expect(await run(session, fetching(web.port))).toMatchObject(served());
    }
  });
});

function isReplaced(cells: NetworkedCells, before: number): boolean {
  try {
    return cells.proxy !== before;
  } catch {
    return false;
  }
}

/** How the cell's own socket reaches the proxy. */
function describeSockets(cellsHere: () => NetworkedCells): void {
  test("on a socket are closed with it by the host and the proxy when their session closes", async () => {
    await using _first = await cellsHere().codecell.openSession(); // starts the proxy
    const { proxy } = cellsHere(); // found by looking at every process
    const shared = () => {
      const served = new Set(sockets(proxy));
      return sockets(process.pid).filter((one) => served.has(one));
    };
    const before = shared();
    await using session = await cellsHere().codecell.openSession();
    const held = shared().filter((one) => !before.includes(one));
    expect(held).toHaveLength(1);
    const inCells = ownCells().flatMap(({ pid }) => (process.getuid?.() === 0 ? sockets(pid) : []));
    expect(inCells.filter((one) => held.includes(one))).toEqual([]); // the cell's first process has closed its copy
    await session[Symbol.asyncDispose]();
    expect(await eventually(() => !sockets(proxy).some((one) => held.includes(one)))).toBe(true);
    expect(sockets(process.pid).some((one) => held.includes(one))).toBe(false);
  });

  test("on a socket that the proxy does not accept stay with the cell", async () => {
    vi.spyOn(SessionEgress.prototype, "listen").mockRejectedValue(new Error("too many open files"));
    await using session = await cellsHere().codecell.openSession();
    expect(await run(session, fetching(web.port))).toMatchObject(served());
    expect(session.receipt.network).toEqual({
      carrier: "streams",
      reason: "the proxy does not accept on the cell's socket: too many open files",
    });
  });

  test("on a socket that the host cannot use go through the cell's channel", async () => {
    vi.spyOn(PassedListener, "from").mockImplementation((handle) => {
      (handle as { close(): void }).close();
      return undefined;
    });
    await using session = await cellsHere().codecell.openSession();
    const result = await run(session, fetching(web.port));
    expect(result).toMatchObject(served());
    expect(result.receipt.network).toEqual({
      carrier: "streams",
      reason: "the cell's socket did not reach the host",
    });
  });
}
