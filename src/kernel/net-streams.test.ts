import { once } from "node:events";
import { Duplex } from "node:stream";
import { beforeEach, describe, expect, test } from "vitest";
import type { HostMessage } from "./messages.ts";
import { NetStreams, windowBytes } from "./net-streams.ts";

type Sent = HostMessage & { size: number };

let sent: Sent[];
let opened: Duplex[];
let streams: NetStreams;

beforeEach(() => {
  sent = [];
  opened = [];
  const channel = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  const send = (message: HostMessage, body?: Uint8Array) => void sent.push({ ...message, size: body?.byteLength ?? 0 });
  streams = new NetStreams(channel, send, (stream) => opened.push(stream));
});

function open(id = 1): Duplex {
  streams.receive({ t: "net.open", id }, new Uint8Array());
  return opened.at(-1) as Duplex;
}
const data = (id: number, size: number) => streams.receive({ t: "net.data", id }, Buffer.alloc(size));
const sentBytes = () => sent.filter(({ t }) => t === "net.data").reduce((sum, { size }) => sum + size, 0);

describe("a stream on the channel", () => {
  test("sends a window and waits for credit", async () => {
    const stream = open();
    stream.write(Buffer.alloc(2 * windowBytes));
    expect(sentBytes()).toBe(windowBytes);
    streams.receive({ t: "net.credit", id: 1, bytes: 1000 }, new Uint8Array());
    expect(sentBytes()).toBe(windowBytes + 1000);
  });

  test("returns credit only for what is read", async () => {
    const stream = open();
    for (let count = 0; count < 4; count++) data(1, windowBytes / 4);
    const returned = () => sent.filter((one) => one.t === "net.credit").length;
    const before = returned();
    expect(before).toBeLessThan(4);
    stream.resume();
    await new Promise((turn) => setImmediate(turn));
    expect(returned()).toBeGreaterThan(before);
  });

  test("that is stalled holds no other up", () => {
    const [stalled, other] = [open(1), open(2)];
    stalled.write(Buffer.alloc(2 * windowBytes));
    other.write(Buffer.alloc(10));
    expect(sent.at(-1)).toMatchObject({ t: "net.data", id: 2, size: 10 });
  });

  test("ends each side by itself, and is over when both have", async () => {
    const stream = open();
    stream.resume();
    streams.receive({ t: "net.end", id: 1 }, new Uint8Array());
    await once(stream, "end");
    stream.end("last");
    await once(stream, "close");
    expect(sent.map(({ t }) => t)).toEqual(["net.data", "net.end"]);
  });

  test("tells the cell when it is cut, and not when the cell did it", async () => {
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

describe("a cell that lies", () => {
  test.each<[string, () => void]>([
    ["sends more than its credit", () => repeat(9, () => data(1, windowBytes / 4))],
    [
      "sends after the end",
      () => {
        streams.receive({ t: "net.end", id: 1 }, new Uint8Array());
        data(1, 1);
      },
    ],
    ["returns credit that it never had", () => streams.receive({ t: "net.credit", id: 1, bytes: 1 }, new Uint8Array())],
    ["opens one connection twice", () => open(1)],
  ])("and %s is ended", (_, lie) => {
    open();
    expect(lie).toThrow(expect.objectContaining({ code: "cell_lost" }));
  });

  test("gets 64 connections and no more", () => {
    for (let id = 1; id <= 65; id++) open(id);
    expect(opened).toHaveLength(64);
    expect(sent).toEqual([{ t: "net.close", id: 65, size: 0 }]);
  });

  test("may speak of connections that are gone", () => {
    expect(() => data(7, 100)).not.toThrow();
  });
});
