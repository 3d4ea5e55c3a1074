import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { Duplex } from "node:stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { packageRoot } from "../../../lib/files/package-root.ts";
import { ackPacket, dataPacket, PacketDecoder } from "./link-packets.ts";
import { PodLink } from "./pod-link.ts";

/** The real other end: `entry/pod_link.py` in front of a process that echoes. */
const program = `
import sys
sys.path.insert(0, sys.argv[1])
import posix, _socket
from codecell_kernel.entry import pod_link
listener = pod_link.listen(int(sys.argv[2]))
ours, theirs = (one.detach() for one in _socket.socketpair())
if posix.fork() == 0:
    posix.close(listener)
    posix.close(theirs)
    while True:
        data = posix.read(ours, 65536)
        if not data: posix._exit(0)
        while data: data = data[posix.write(ours, data):]
posix.close(ours)
print("listening", flush=True)
pod_link.SILENCE = float(sys.argv[5])
pod_link.Link(listener, theirs, sys.argv[3] or None, float(sys.argv[4])).run()
`;
const ticket = "5ec7e7".repeat(8);
const ticketHash = createHash("sha256").update(ticket).digest("hex");
let pod: ChildProcess;
let exited: Promise<unknown>;
let port: number;
let carriers: Socket[];

async function startPod(patienceSeconds: number, { hash = ticketHash, silenceSeconds = 60 } = {}): Promise<void> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  port = (server.address() as { port: number }).port;
  server.close();
  await once(server, "close");
  const directory = join(packageRoot(), "python");
  const numbers = [patienceSeconds, silenceSeconds].map(String);
  pod = spawn("python3", ["-c", program, directory, String(port), hash, ...numbers]);
  exited = once(pod, "exit");
  if (pod.stdout) await once(pod.stdout, "data");
}

const dial = async () => {
  const socket = connect(port, "127.0.0.1");
  carriers.push(socket);
  await once(socket, "connect");
  return socket;
};
const open = (options: { ticket?: string; patienceMs?: number; beatMs?: number } = {}) =>
  PodLink.open({ connect: dial, ticket, patienceMs: 5_000, ...options }, AbortSignal.timeout(10_000));

const hasPython = spawnSync("python3", ["-c", ""]).status === 0;

describe.skipIf(!hasPython)("a link to a pod", () => {
  beforeEach(async () => {
    carriers = [];
    await startPod(5);
  });
  afterEach(() => {
    pod.kill("SIGKILL");
    for (const carrier of carriers) carrier.destroy();
  });

  test("no byte is lost or doubled although connections break in the middle of everything", async () => {
    const link = await open();
    const sent = randomBytes(8 * 2 ** 20);
    const received: Buffer[] = [];
    let size = 0;
    const whole = new Promise<void>((resolve, reject) => {
      link.on("error", reject);
      link.on("data", (data: Buffer) => {
        received.push(data);
        size += data.length;
        if (size > carriers.length * 2 ** 20) carriers.at(-1)?.destroy(); // once per mebibyte
        if (size >= sent.length) resolve();
      });
    });
    for (let at = 0; at < sent.length; at += 50_001) {
      if (!link.write(sent.subarray(at, at + 50_001))) await once(link, "drain");
    }
    await whole;
    expect(Buffer.concat(received).equals(sent)).toBe(true);
    expect(carriers.length).toBeGreaterThan(4);
    link.destroy();
  });

  test("a writer waits while nobody reads at the other end", async () => {
    const link = await open(); // the echo is not read here, so the pod stops reading too
    const isStuck = () => link.writableNeedDrain;
    for (let pieces = 0; pieces < 200 && !isStuck(); pieces++) {
      link.write(Buffer.alloc(64 * 1024));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(isStuck()).toBe(true);
    link.destroy();
  });

  test("a program that reaches the listener without the ticket is turned away and disturbs nobody", async () => {
    const link = await open();
    await expect(open({ ticket: "guess" })).rejects.toThrow("closed the connection");
    const intruder = await dial();
    const dismissed = new Promise((resolve) => intruder.on("error", () => {}).once("close", resolve));
    intruder.write("x".repeat(1000));
    await dismissed;
    link.write("still here");
    expect(String((await once(link, "data"))[0])).toBe("still here");
    link.destroy();
  });

  test("a pod and a gateway that only ask each other whether they are there keep their connection", async () => {
    pod.kill("SIGKILL");
    await startPod(5, { silenceSeconds: 1.2 });
    const link = await open({ beatMs: 250 });
    const answers = 8; // in 2 s
    const bytes = "ok 0\n".length + answers * ackPacket(0).length;
    await expect.poll(() => carriers[0]?.bytesRead, { timeout: 10_000 }).toBeGreaterThanOrEqual(bytes);
    expect(carriers.length).toBe(1);
    link.destroy();
  });

  test("a pod hangs up on a gateway that says nothing for too long, and takes it back", async () => {
    pod.kill("SIGKILL");
    await startPod(5, { silenceSeconds: 0.1 });
    const silent = await dial();
    silent.write(`codecell ${ticket} 0\n`);
    await once(silent.resume(), "close");
    const link = await open();
    link.write("back");
    expect(String((await once(link, "data"))[0])).toBe("back");
    link.destroy();
  });

  test("a pod whose gateway is gone for too long ends", async () => {
    pod.kill("SIGKILL");
    await startPod(1);
    const link = await open();
    link.destroy();
    await exited;
    expect(pod.exitCode).toBe(0);
  });

  test("a pod of a warm pool waits without an end, belongs to the first ticket, and then ends without it as others do", async () => {
    pod.kill("SIGKILL");
    await startPod(0, { hash: "" });
    await expect(open({ ticket: "guess" })).rejects.toThrow("closed the connection");
    const link = await open();
    await expect(open({ ticket: "bad1d3".repeat(8) })).rejects.toThrow("closed the connection");
    link.write("mine");
    expect(String((await once(link, "data"))[0])).toBe("mine");
    link.destroy();
    await exited;
    expect(pod.exitCode).toBe(0);
  });

  test("a link to a pod that is gone fails when its patience is over", async () => {
    const link = await open({ patienceMs: 150 });
    pod.kill("SIGKILL");
    const [error] = await once(link, "error");
    expect(error.message).toBe("the connection to the pod broke and did not come back");
  });
});

interface HostilePod {
  readonly greets?: boolean;
  readonly reads?: boolean;
  readonly onWrite?: () => void;
}

/** A connection to a hostile pod, which takes what is written only if `reads` says so. */
function hostile({ greets = true, reads = true, onWrite = () => {} }: HostilePod = {}): Duplex {
  const carrier = new Duplex({
    read() {},
    write(_chunk, _encoding, done) {
      onWrite();
      if (reads) done();
    },
  });
  if (greets) carrier.push("ok 0\n");
  return carrier;
}

test("a link to a pod that accepts connections and says nothing fails when its patience is over", async () => {
  const connections = [hostile(), hostile({ greets: false })];
  const connect = async () => connections.shift() ?? hostile({ greets: false });
  const [first] = connections;
  const link = await PodLink.open({ connect, ticket, patienceMs: 150 }, AbortSignal.timeout(10_000));
  first?.destroy();
  const [error] = await once(link, "error");
  expect(error.message).toBe("the connection to the pod broke and did not come back");
});

test("a connection that carries nothing any more is replaced, as behind an unplugged node", async () => {
  let connections = 0;
  let resumed = () => {};
  const isBack = new Promise<void>((resolve) => {
    resumed = resolve;
  });
  const connect = async () => {
    connections++;
    return hostile();
  };
  const options = { connect, ticket, patienceMs: 5_000, beatMs: 5, onResumed: resumed };
  const link = await PodLink.open(options, AbortSignal.timeout(10_000));
  await isBack;
  expect(connections).toBe(2);
  link.destroy();
});

test("a pod that greets each connection and then says nothing is lost", async () => {
  let connections = 0;
  const connect = async () => {
    connections++;
    return hostile();
  };
  const link = await PodLink.open({ connect, ticket, patienceMs: 5_000, beatMs: 5 }, AbortSignal.timeout(10_000));
  const [error] = await once(link, "error");
  expect(error.message).toBe("the pod accepts connections and answers nothing");
  expect(connections).toBe(3);
});

test("a connection is not replaced while the session does not read what has arrived", async () => {
  let connections = 0;
  let pings = 0;
  const connect = async () => {
    connections++;
    const carrier = hostile({ onWrite: () => pings++ });
    carrier.push(dataPacket(Buffer.alloc(512 * 1024)));
    return carrier;
  };
  const link = await PodLink.open({ connect, ticket, patienceMs: 5_000, beatMs: 5 }, AbortSignal.timeout(10_000));
  await expect.poll(() => pings).toBeGreaterThan(10);
  expect(connections).toBe(1);
  link.destroy();
});

test("a writer waits for a pod that confirms what it has not read", async () => {
  const carrier = hostile({ reads: false });
  const link = await PodLink.open(
    { connect: async () => carrier, ticket, patienceMs: 150 },
    AbortSignal.timeout(10_000),
  );
  let written = 0;
  for (let pieces = 0; pieces < 200 && !link.writableNeedDrain; pieces++) {
    link.write(Buffer.alloc(64 * 1024));
    written += 64 * 1024;
    carrier.push(ackPacket(written));
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(carrier.writableLength).toBeLessThan(4 * 2 ** 20);
  link.destroy();
});

test("a pod that greets and hangs up has to wait for its next connection", async () => {
  let connections = 0;
  const connect = async () => {
    connections++;
    const carrier = hostile();
    setImmediate(() => setImmediate(() => carrier.destroy()));
    return carrier;
  };
  const link = await PodLink.open({ connect, ticket, patienceMs: 5_000 }, AbortSignal.timeout(10_000));
  await expect.poll(() => connections).toBeGreaterThan(20);
  for (let turns = 0; turns < 500; turns++) await new Promise((resolve) => setImmediate(resolve));
  expect(connections).toBeLessThan(25);
  link.destroy();
});

test("packets are the same however small the parts are that they arrive in", () => {
  const sent = Buffer.concat([dataPacket(Buffer.from("one")), ackPacket(7), dataPacket(Buffer.alloc(0)), ackPacket(8)]);
  const whole = new PacketDecoder().push(sent);
  expect(whole).toEqual([
    { kind: "data", data: Buffer.from("one") },
    { kind: "ack", count: 7 },
    { kind: "data", data: Buffer.alloc(0) },
    { kind: "ack", count: 8 },
  ]);
  const decoder = new PacketDecoder();
  expect([...sent].flatMap((byte) => decoder.push(Buffer.from([byte])))).toEqual(whole);
});
