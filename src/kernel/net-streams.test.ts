import { once } from "node:events";
import { Duplex } from "node:stream";
import { beforeEach, describe, expect, test } from "vitest";
import type { HostMessage } from "./messages.ts";
import { NetStreams, wideWindowBytes, windowBytes } from "./net-streams.ts";

type Sent = HostMessage & { size: number };

let sent: Sent[];
let bodies: Buffer[];
let opened: Duplex[];
let streams: NetStreams;
let isFlushed: boolean;
let unflushed: (() => void)[];

beforeEach(() => {
  sent = [];
  bodies = [];
  opened = [];
  isFlushed = true;
  unflushed = [];
  const channel = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  const send = (message: HostMessage, body: readonly Uint8Array[] = [], flushed = () => {}) => {
    bodies.push(Buffer.concat(body));
    sent.push({ ...message, size: bodies.at(-1)?.length ?? 0 });
    if (isFlushed) flushed();
    else unflushed.push(flushed);
  };
  streams = new NetStreams(channel, send, (stream) => opened.push(stream));
});

function open(id = 1): Duplex {
  streams.receive({ t: "net.open", id }, new Uint8Array());
  return opened.at(-1) as Duplex;
}
const data = (id: number, size: number) => streams.receive({ t: "net.data", id }, Buffer.alloc(size));
const credit = (id: number, bytes: number) => streams.receive({ t: "net.credit", id, bytes }, new Uint8Array());
const sentBytes = () => sent.filter(({ t }) => t === "net.data").reduce((sum, { size }) => sum + size, 0);

describe("a stream over the channel", () => {
  test("sends one window of data and then waits for credit", async () => {
    const stream = open();
    stream.write(Buffer.alloc(2 * windowBytes));
    expect(sentBytes()).toBe(windowBytes);
    credit(1, 1000);
    expect(sentBytes()).toBe(windowBytes + 1000);
  });

  test("returns credit only for data that was read", async () => {
    const stream = open();
    for (let count = 0; count < 16; count++) data(1, windowBytes / 4);
    const returned = () => sent.filter((one) => one.t === "net.credit").length;
    const before = returned();
    expect(before).toBe(1);
    stream.resume();
    await new Promise((turn) => setImmediate(turn));
    expect(returned()).toBeGreaterThan(before);
  });

  test("has a wide window if there are few streams, and a narrow one if there are many", () => {
    const returned = () => sent.flatMap((one) => (one.t === "net.credit" ? [one.bytes] : []));
    for (let id = 1; id <= 8; id++) open(id);
    data(1, windowBytes / 4);
    expect(returned()).toEqual([windowBytes / 4 + wideWindowBytes - windowBytes]);
    open(9);
    data(2, windowBytes / 4);
    expect(returned().at(-1)).toBe(windowBytes / 4);
  });

  test("sends data that waited for credit completely and in order", () => {
    const stream = open();
    const bytes = Buffer.from(Array.from({ length: windowBytes + 300 }, (_, at) => at % 251));
    stream.write(bytes.subarray(0, windowBytes));
    for (let at = windowBytes; at < bytes.length; at += 100) stream.write(bytes.subarray(at, at + 100));
    const before = bodies.length;
    credit(1, 300);
    // the first write that waited, then all later ones in one frame
    expect(bodies.slice(before).map(({ length }) => length)).toEqual([100, 200]);
    expect(Buffer.concat(bodies)).toEqual(bytes);
  });

  test("reports a write as finished only after the flush, because the writer reuses the buffer", async () => {
    isFlushed = false;
    const stream = open();
    let isWritten = false;
    stream.write(Buffer.alloc(10), () => {
      isWritten = true;
    });
    await new Promise((turn) => setImmediate(turn));
    expect([sentBytes(), isWritten]).toEqual([10, false]);
    for (const flushed of unflushed) flushed();
    await new Promise((turn) => setImmediate(turn));
    expect(isWritten).toBe(true);
  });

  test("reports a write as finished only after the flush even if it is destroyed", async () => {
    isFlushed = false;
    const stream = open();
    let isWritten = false;
    stream.write(Buffer.alloc(2 * windowBytes), () => {
      isWritten = true;
    });
    stream.destroy();
    await once(stream, "close");
    expect([sentBytes(), isWritten]).toEqual([windowBytes, false]);
    for (const flushed of unflushed) flushed();
    await new Promise((turn) => setImmediate(turn));
    expect(isWritten).toBe(true);
  });

  test("does not block other streams while it waits for credit", () => {
    const [stalled, other] = [open(1), open(2)];
    stalled.write(Buffer.alloc(2 * windowBytes));
    other.write(Buffer.alloc(10));
    expect(sent.at(-1)).toMatchObject({ t: "net.data", id: 2, size: 10 });
  });

  test("closes after both sides have ended", async () => {
    const stream = open();
    stream.resume();
    streams.receive({ t: "net.end", id: 1 }, new Uint8Array());
    await once(stream, "end");
    stream.end("last");
    await once(stream, "close");
    expect(sent.map(({ t }) => t)).toEqual(["net.data", "net.end"]);
  });

  test("tells the cell that it was closed, unless the cell closed it", async () => {
    const [cut, gone] = [open(1), open(2)];
    cut.destroy();
    streams.receive({ t: "net.close", id: 2 }, new Uint8Array());
    await once(gone, "close");
    expect(sent).toEqual([{ t: "net.close", id: 1, size: 0 }]);
  });
});

const repeat = (times: number, act: () => void) => {
  for (let count = 0; count < times; count++) act();
};

describe("a cell that breaks the protocol", () => {
  test.each<[string, () => void]>([
    ["sends more than its credit", () => repeat(18, () => data(1, windowBytes / 4))],
    [
      "sends after the end",
      () => {
        streams.receive({ t: "net.end", id: 1 }, new Uint8Array());
        data(1, 1);
      },
    ],
    ["returns credit that it never had", () => credit(1, wideWindowBytes - windowBytes + 1)],
    ["opens one connection twice", () => open(1)],
  ])("is disconnected if it %s", (_, violate) => {
    open();
    expect(violate).toThrow(expect.objectContaining({ code: "cell_lost" }));
  });

  test("gets no more than 64 connections", () => {
    for (let id = 1; id <= 65; id++) open(id);
    expect(opened).toHaveLength(64);
    expect(sent).toEqual([{ t: "net.close", id: 65, size: 0 }]);
  });

  test("is not disconnected for a message about a connection that is closed", () => {
    expect(() => data(7, 100)).not.toThrow();
  });
});
