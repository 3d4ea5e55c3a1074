import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { encodeFrameHead } from "../../src/kernel/frames.ts";
import { ListenerRegistry, takeListener } from "../../src/runners/process/listener-registry.ts";
import { descriptors } from "../support/descriptors.ts";
import { type LoopbackWeb, openLoopbackWeb } from "../support/loopback-web.ts";
import { fetching, NetworkedCells } from "../support/networked-cells.ts";
import { bothLayouts, eventually, look, run, skipsProcess } from "../support/process-cells.ts";

let web: LoopbackWeb;
beforeAll(async () => {
  web = await openLoopbackWeb();
});
afterAll(() => web.close());

/** Tries every way to listen on the proxy's port, also from a new process. */
const takePort = `
import os, socket, subprocess, sys
program = '''
import socket
for options in ((), (socket.SO_REUSEADDR,), (socket.SO_REUSEPORT,), (socket.SO_REUSEADDR, socket.SO_REUSEPORT)):
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        try:
            with socket.socket(family) as attempt:
                for option in options:
                    attempt.setsockopt(socket.SOL_SOCKET, option, 1)
                attempt.bind((address, 3128))
                attempt.listen()
                client = socket.create_connection(("127.0.0.1", 3128), 2)
                attempt.settimeout(0.2)
                attempt.accept()
                print("taken", address, options)
        except OSError:
            pass
'''
printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
print(json.dumps([printed.stdout, printed.stderr]))`;

describe.skipIf(skipsProcess).each(bothLayouts)(
  "code in a cell whose proxy socket was handed to the host, $name",
  ({ options }) => {
    let cells: NetworkedCells;
    beforeAll(async () => {
      cells = await NetworkedCells.open(web.port, options);
    });
    afterAll(() => cells?.[Symbol.asyncDispose]());

    test("has neither the socket nor the channel that carried it", async () => {
      await using session = await cells.codecell.openSession();
      const code = `
import os, socket
def described(fd):
    try:
        one = socket.socket(fileno=os.dup(fd))
    except OSError:
        return None
    with one:
        return [one.family.name, one.type.name, one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)]
found = [described(int(name)) for name in os.listdir("/proc/self/fd")]
try:
    found.append(os.listdir("/proc/1/fd"))
except OSError:
    pass
print(json.dumps([one for one in found if one]))`;
      // only the packets to the supervisor
      expect(await look(session, code)).toEqual([["AF_UNIX", "SOCK_SEQPACKET", 0]]);
    });

    test("cannot pass its own socket off as another cell's", async () => {
      await using attacker = await cells.codecell.openSession();
      await using victim = await cells.codecell.openSession();
      const code = `
import array, os, socket
own = socket.socket()
own.bind(("127.0.0.1", 4000))
own.listen()
message = b'{"cmd":"NODE_HANDLE","type":"net.Native","msg":{"t":"listener","ticket":"%s"}}\\n' % (b"0" * 32)
for fd in range(0, 256):
    try:
        way = socket.socket(fileno=os.dup(fd))
        way.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [own.fileno()]))])
    except OSError:
        pass
own.settimeout(1)
try:
    own.accept()
    print("somebody came")
except OSError:
    print("nobody came")`;
      await attacker.usage(); // opens the counters of its control groups, which stay open
      const before = descriptors(process.pid).length;
      expect(await run(attacker, code)).toMatchObject({ status: "ok", stdout: "nobody came\n" });
      await expect.poll(() => descriptors(process.pid).length).toBeLessThanOrEqual(before);
      await using later = await cells.codecell.openSession();
      for (const session of [victim, attacker, later]) {
        expect(await run(session, fetching(web.port))).toMatchObject({ stdout: `GET good.example:${web.port}/\n` });
      }
    });

    test("does not reach another cell through its own socket", async () => {
      await using one = await cells.codecell.openSession();
      await using other = await cells.codecell.openSession();
      const code = 'import urllib.request\nurllib.request.urlopen("http://evil.example/")';
      const [hasAsked, isQuiet] = await Promise.all([run(one, code), run(other, "1")]);
      expect(hasAsked.egress?.denied).toHaveLength(1);
      expect(isQuiet.egress?.denied).toEqual([]);
    });

    test("cannot impersonate the proxy, not even while the proxy is dead", async () => {
      await using session = await cells.codecell.openSession();
      expect(await look(session, takePort)).toEqual(["", ""]);
      await cells.killProxy();
      expect(await look(session, takePort)).toEqual(["", ""]);
    });
  },
);

/** Addresses that only this test uses: the whole of 127/8 is loopback. */
const right = { address: "127.77.0.1", port: 3128 };
const wrong = { address: "127.77.0.2", port: 3128 };

/** A fake jail whose first process lies: it sends sockets as the test says. */
const liar = `
import net from "node:net";
process.on("message", async ({ ticket, port, address }) => {
  const server = net.createServer().listen(port, address);
  await new Promise((up) => server.once("listening", up));
  process.send({ t: "listener", ticket }, server._handle, () => server.close());
});`;

describe.skipIf(skipsProcess)("the listener registry", () => {
  let directory = "";
  let jail: ChildProcess;
  let registry: ListenerRegistry;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "liar-"));
    await writeFile(join(directory, "liar.mjs"), liar);
    jail = fork(join(directory, "liar.mjs"), { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    await once(jail, "spawn");
    registry = new ListenerRegistry(jail, right);
  });
  afterEach(async () => {
    const gone = once(jail, "exit");
    jail.kill("SIGKILL");
    await gone;
    await rm(directory, { recursive: true });
  });

  const send = async (message: object) => {
    const received = once(jail, "message");
    jail.send(message);
    await received;
  };
  test("closes sockets with an unknown ticket", async () => {
    const expected = registry.expect();
    const before = descriptors(process.pid).length;
    await send({ ...right, ticket: "0".repeat(32) });
    await send({ ...right, ticket: 7 });
    await send(right);
    expect(await eventually(() => descriptors(process.pid).length <= before)).toBe(true);
    await send({ ...right, ticket: expected.ticket });
    using listener = await expected.arrived; // it still waits for its own socket
    expect(listener).toMatchObject(right);
  });

  test("accepts one socket per ticket, and closes further ones", async () => {
    const { ticket, arrived } = registry.expect();
    await send({ ...right, ticket });
    (await arrived)?.close();
    const before = descriptors(process.pid).length;
    await send({ ...right, ticket });
    expect(await eventually(() => descriptors(process.pid).length <= before)).toBe(true);
  });

  test.each([wrong, { ...right, port: 3129 }])("refuses and closes a socket of another address: %o", async (at) => {
    const expected = registry.expect();
    const before = descriptors(process.pid).length;
    await send({ ...at, ticket: expected.ticket });
    using listener = await expected.arrived;
    expect(listener).toBeUndefined();
    expect(await eventually(() => descriptors(process.pid).length <= before)).toBe(true);
  });

  test("stops waiting for a cell that says hello but sends no socket, and closes a late one", async () => {
    const expected = registry.expect();
    const channel = new PassThrough();
    const hello = encodeFrameHead({ t: "hello" });
    channel.write(hello);
    expect(await takeListener(expected, channel, { arrivalMs: 10 })).toMatchObject({ kind: "streams" });
    expect(channel.read()).toEqual(hello); // the hello is still in the channel for the kernel client
    const before = descriptors(process.pid).length;
    await send({ ...right, ticket: expected.ticket });
    expect(await eventually(() => descriptors(process.pid).length <= before)).toBe(true);
  });

  test("does not wait for the socket of a cell that failed to start", async () => {
    const channel = new PassThrough();
    channel.write(encodeFrameHead({ t: "failed", reason: "no" }));
    expect(await takeListener(registry.expect(), channel, { arrivalMs: 600_000 })).toMatchObject({ kind: "streams" });
  });

  test("does not wait for a jail that has exited", async () => {
    const expected = registry.expect();
    jail.disconnect();
    expect(await takeListener(expected, new PassThrough(), { arrivalMs: 600_000 })).toMatchObject({ kind: "streams" });
  });
});
