import { once } from "node:events";
import { createServer, type IncomingMessage, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as round } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { BodyMemory } from "./body-memory.ts";
import { type ReadBody, readBody } from "./read-body.ts";

const MiB = 2 ** 20;
const body = Buffer.alloc(8 * MiB, "body");

/** A request with this body, as the server sees it, before anything of its body is read. */
async function arrived({
  isChunked = false,
  bytes = body,
} = {}): Promise<{ incoming: IncomingMessage; leave(): void }> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const headers = isChunked ? {} : { "content-length": bytes.byteLength };
  const outgoing = send({ port, host: "127.0.0.1", method: "PUT", headers, agent: false });
  outgoing.on("error", () => {});
  onTestFinished(() => {
    outgoing.destroy();
    server.closeAllConnections();
    server.close();
  });
  outgoing.write(bytes);
  outgoing.end();
  const [incoming] = (await once(server, "request")) as [IncomingMessage];
  return { incoming, leave: () => void outgoing.destroy() };
}

const isWhole = (read: ReadBody) => "body" in read && read.body.equals(body);
const limits = { maxBytes: 16 * MiB, waitMs: 60_000 };

test("a large body without memory is not read until there is memory, and then arrives whole", async () => {
  const memory = new BodyMemory(16 * MiB);
  using other = memory.lease();
  using lease = memory.lease();
  expect(other.reserve(12 * MiB)).toBe(true);
  const { incoming } = await arrived();
  const read = readBody(incoming, { ...limits, memory: lease });
  await expect.poll(() => incoming.isPaused()).toBe(true);
  for (let turn = 0; turn < 50; turn++) await round();
  expect(incoming.socket.bytesRead).toBeLessThan(MiB);
  other.release(12 * MiB);
  expect(isWhole(await read)).toBe(true);
  expect(memory.usedBytes).toBe(8 * MiB - 64 * 1024);
});

test("a large body is refused when there is no memory for it in time", async () => {
  const memory = new BodyMemory(MiB);
  using other = memory.lease();
  using lease = memory.lease();
  expect(other.reserve(MiB)).toBe(true);
  const { incoming } = await arrived();
  expect(await readBody(incoming, { ...limits, waitMs: 50, memory: lease })).toEqual({ refused: "busy" });
  expect(memory.usedBytes).toBe(MiB);
});

test("a client that leaves while its body waits for memory keeps nothing of it", async () => {
  const memory = new BodyMemory(16 * MiB);
  using other = memory.lease();
  using lease = memory.lease();
  expect(other.reserve(12 * MiB)).toBe(true);
  const { incoming, leave } = await arrived();
  const read = readBody(incoming, { ...limits, memory: lease });
  await expect.poll(() => incoming.isPaused()).toBe(true);
  leave();
  // The OS reports the end of a connection only to a reader, so it is noticed when it is the body's turn.
  other.release(12 * MiB);
  expect(await read).toEqual({ refused: "gone" });
  expect(memory.usedBytes).toBe(0);
});

test("a body of unknown size keeps only the memory that it needs", async () => {
  const memory = new BodyMemory(16 * MiB);
  using lease = memory.lease();
  const { incoming } = await arrived({ isChunked: true });
  expect(isWhole(await readBody(incoming, { ...limits, memory: lease }))).toBe(true);
  expect(memory.usedBytes).toBe(8 * MiB - 64 * 1024);
});
