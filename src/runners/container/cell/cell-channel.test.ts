import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AttachedStream } from "../engine/attached-stream.ts";
import { CellChannel } from "./cell-channel.ts";

/** Two ends of one connection. */
async function connection(): Promise<[Socket, Socket]> {
  const path = join(directory, `s${++connections}`);
  const server = createServer({ allowHalfOpen: true }).listen(path);
  await once(server, "listening");
  const there = connect({ path, allowHalfOpen: true });
  const [here] = await once(server, "connection");
  server.close();
  there.on("error", () => {}); // the other end may be closed first
  return [here, there];
}

let connections = 0;
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "cc-channel-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** A piece of the engine's stream: 1 is output, 2 is the log. */
function piece(stream: 1 | 2, content: string): Buffer {
  const header = Buffer.from([stream, 0, 0, 0, 0, 0, 0, content.length]);
  return Buffer.concat([header, Buffer.from(content)]);
}

async function openChannel() {
  const [ours, engine] = await connection();
  const attached = new AttachedStream(ours, Buffer.alloc(0));
  const { promise, resolve } = withResolvers<Socket>();
  const channel = new CellChannel(attached, promise);
  const connectCell = async () => {
    const [host, cell] = await connection();
    resolve(host);
    return { cell };
  };
  return { channel, attached, engine, connectCell };
}

function withResolvers<Value>() {
  let resolve: (value: Value) => void = () => {};
  const promise = new Promise<Value>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

const text = async (stream: Duplex) => String((await once(stream, "data"))[0]);

describe("the channel of a container cell", () => {
  test("uses the cell's connection and sends earlier writes first", async () => {
    const { channel, engine, connectCell } = await openChannel();
    channel.write("early ");
    channel.write("late");
    const { cell } = await connectCell();
    let received = "";
    for await (const data of cell) {
      received += String(data);
      if (received.length === 10) break;
    }
    expect(received).toBe("early late");
    expect(engine.readableLength).toBe(0);
  });

  test("uses the engine's stream if the cell writes there first, and closes a later connection", async () => {
    const { channel, engine, connectCell } = await openChannel();
    channel.write("start");
    engine.write(piece(1, "hello"));
    expect(await text(channel)).toBe("hello");
    expect(await text(engine)).toBe("start");
    const { cell } = await connectCell();
    cell.resume();
    await once(cell, "end");
    engine.write(piece(1, "again"));
    expect(await text(channel)).toBe("again");
  });

  test("ignores the engine's stream after the cell has connected", async () => {
    const { channel, attached, engine, connectCell } = await openChannel();
    const { cell } = await connectCell();
    let received = "";
    channel.on("data", (data) => {
      received += String(data);
    });
    cell.write("first ");
    await once(channel, "data");
    const forged = once(attached, "data");
    engine.write(piece(1, "forged "));
    await forged;
    const last = once(channel, "data");
    cell.write("last");
    await last;
    expect(received).toBe("first last");
  });

  test("ends with the cell's connection, and still receives the cell's last log lines", async () => {
    const { channel, attached, engine, connectCell } = await openChannel();
    const { cell } = await connectCell();
    channel.resume();
    const ended = once(channel, "end");
    cell.end();
    await ended;
    engine.write(piece(2, "no such directory"));
    engine.end();
    await once(channel, "close");
    expect(attached.log).toBe("no such directory");
  });

  test("receives the cell's last log lines also if a write to the cell has failed", async () => {
    const { channel, attached, engine, connectCell } = await openChannel();
    const { cell } = await connectCell();
    channel.on("error", () => {});
    const closed = new Promise((resolve) => channel.once("close", resolve));
    cell.write("frame");
    await text(channel);
    cell.destroy();
    channel.destroy(new Error("EPIPE"));
    await closed;
    engine.write(piece(2, "no room"));
    engine.end();
    await once(attached, "close");
    expect(attached.log).toBe("no room");
  });

  test("does not wait for an engine that stays silent after the channel was destroyed", async () => {
    const { channel, attached, connectCell } = await openChannel();
    const { cell } = await connectCell();
    cell.write("frame");
    await text(channel);
    channel.destroy();
    await once(attached, "close");
  });

  test("closes the cell's connection when the engine's stream closes", async () => {
    const { channel, attached, connectCell } = await openChannel();
    const { cell } = await connectCell();
    cell.write("frame");
    await text(channel);
    cell.resume();
    attached.destroy();
    await Promise.all([once(channel, "close"), once(cell, "end")]);
  });

  test("closes the engine's stream and any later connection if it is destroyed before the cell has written", async () => {
    const { channel, attached, connectCell } = await openChannel();
    channel.destroy();
    await once(channel, "close");
    expect(attached.destroyed).toBe(true);
    const { cell } = await connectCell();
    cell.resume();
    await once(cell, "end");
  });
});
