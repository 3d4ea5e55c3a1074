import { expect, test } from "vitest";
import type { ClusterSocket } from "../client/cluster-connection.ts";
import { attachNumbers, portForwardNumbers, SocketStream } from "./socket-stream.ts";

function socket() {
  const state = { sent: [] as Buffer[], isPaused: false, isTerminated: false, flush: [] as (() => void)[] };
  const listeners = new Map<string, () => void>();
  const fake = {
    ...{ protocol: "v4.channel.k8s.io", bufferedAmount: 0, readyState: 1 },
    send: (data: Buffer, callback: () => void) => {
      state.sent.push(data);
      state.flush.push(callback);
    },
    ping() {},
    pause: () => {
      state.isPaused = true;
    },
    resume: () => {
      state.isPaused = false;
    },
    close() {},
    terminate: () => {
      state.isTerminated = true;
    },
    on: (event: string, listener: () => void) => listeners.set(event, listener),
  };
  return { state, emit: (event: string) => listeners.get(event)?.(), fake: fake as unknown as ClusterSocket };
}

test("standard output is read, standard error is kept apart and truncated", () => {
  const { fake } = socket();
  const stream = new SocketStream(attachNumbers).carry(fake);
  stream.onMessage(1, Buffer.from("frame"));
  stream.onMessage(2, Buffer.from("e".repeat(20_000)));
  stream.onMessage(3, Buffer.from('{"status":"Success"}'));
  expect(String(stream.read())).toBe("frame");
  expect(stream.log).toHaveLength(16_384);
  expect(stream.status).toBe('{"status":"Success"}');
  stream.destroy();
});

test("the socket is paused while nobody reads", () => {
  const { fake, state } = socket();
  const stream = new SocketStream(attachNumbers).carry(fake);
  stream.onMessage(1, Buffer.alloc(1024 * 1024));
  expect(state.isPaused).toBe(true);
  stream.read();
  stream.read(0);
  expect(state.isPaused).toBe(false);
  stream.destroy();
});

test("a write ends when the socket has taken its last piece, each with the number of its stream", () => {
  const { fake, state } = socket();
  const stream = new SocketStream(attachNumbers).carry(fake);
  let isWritten = false;
  stream.write(Buffer.alloc(100_000), () => {
    isWritten = true;
  });
  expect(state.sent.map((message) => [message[0], message.length])).toEqual([
    [0, 65_537],
    [0, 34_465],
  ]);
  state.flush[0]?.();
  expect(isWritten).toBe(false);
  state.flush[1]?.();
  return new Promise<void>((resolve) =>
    setImmediate(() => {
      expect(isWritten).toBe(true);
      stream.destroy();
      resolve();
    }),
  );
});

test("a forwarded port begins with its own number, which is no data", () => {
  const { fake } = socket();
  const stream = new SocketStream(portForwardNumbers).carry(fake);
  stream.onMessage(0, Buffer.from([0x28, 0x23]));
  stream.onMessage(1, Buffer.from([0x28, 0x23]));
  stream.onMessage(0, Buffer.from("data"));
  stream.onMessage(1, Buffer.from("connection refused"));
  expect(String(stream.read())).toBe("data");
  expect(stream.log).toBe("connection refused");
  stream.destroy();
});

test("a socket that closes ends the stream, and a destroyed stream ends the socket", async () => {
  const { fake, state, emit } = socket();
  const stream = new SocketStream(attachNumbers).carry(fake);
  const closed = new Promise((resolve) => stream.once("close", resolve));
  emit("close");
  await closed;
  expect(state.isTerminated).toBe(true);
});
