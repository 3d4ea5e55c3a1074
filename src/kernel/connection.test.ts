import { once } from "node:events";
import { Duplex, PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { KernelClient } from "./client.ts";
import { KernelConnection } from "./connection.ts";
import { encodeFrameHead } from "./frames.ts";
import type { KernelSetup } from "./messages.ts";

const config: KernelSetup = { env: {}, path: [], preload: [], background: false, recovery: true };

test("opening a connection to a cell that has already exited fails at once", async () => {
  const channel = new PassThrough();
  channel.destroy();
  await once(channel, "close");
  await expect(KernelConnection.open(channel, config)).rejects.toMatchObject({ code: "cell_lost" });
});

test("opening a connection with a signal that has already fired is aborted", async () => {
  const channel = new PassThrough();
  const open = KernelConnection.open(channel, config, { signal: AbortSignal.abort(new Error("changed my mind")) });
  await expect(open).rejects.toMatchObject({
    code: "aborted",
    message: "the start was aborted: changed my mind",
  });
});

test("an interpreter that the cell gives up is lost alone, and its pending requests are rejected", async () => {
  const [toHost, toCell] = [new PassThrough(), new PassThrough()];
  const channel = Duplex.from({ readable: toHost, writable: toCell });
  toHost.write(
    encodeFrameHead({ t: "hello", protocol: 1, python: "3.11.2", languages: ["python"], features: ["fork"] }),
  );
  toHost.write(encodeFrameHead({ t: "ready" }));
  const parent = await KernelClient.connect(channel, config);
  const forked = parent.fork({});
  toHost.write(encodeFrameHead({ t: "reply", id: 2 ** 32 + 1, ok: true }));
  const fork = await forked;
  const asked = fork.get("x", "json", { maxBytes: 10, timeoutMs: 1000 });
  toHost.write(encodeFrameHead({ t: "failed", reason: "it could not start", branch: 1 }));
  await expect(asked).rejects.toMatchObject({ code: "cell_lost", message: expect.stringContaining("could not start") });
  expect([fork.isAlive, parent.isAlive]).toEqual([false, true]);
  toHost.write(encodeFrameHead({ t: "failed", reason: "all of it" }));
  await expect.poll(() => parent.isAlive).toBe(false);
});

test("questions for the usage of a cell share one answer, and end with the cell", async () => {
  const [toHost, toCell] = [new PassThrough(), new PassThrough()];
  const channel = Duplex.from({ readable: toHost, writable: toCell });
  const hello = { t: "hello", protocol: 1, python: "3.11.2", languages: ["python"], features: ["usage"] };
  toHost.write(encodeFrameHead(hello));
  toHost.write(encodeFrameHead({ t: "usage", cpuMs: 1, memoryBytes: 1, peakMemoryBytes: 1 })); // nobody asked
  toHost.write(encodeFrameHead({ t: "ready" }));
  const kernel = await KernelClient.connect(channel, config);
  const usage = { cpuMs: 70, memoryBytes: 1000, peakMemoryBytes: 2000 };
  const asked = Promise.all([kernel.usage(), kernel.usage()]);
  toHost.write(encodeFrameHead({ t: "usage", ...usage }));
  expect(await asked).toEqual([usage, usage]);
  const late = kernel.usage();
  toHost.write(encodeFrameHead({ t: "failed", reason: "all of it" }));
  await expect(late).rejects.toMatchObject({ code: "cell_lost" });
  await expect(kernel.usage()).rejects.toMatchObject({ code: "cell_lost" });
});

test("a kernel that does not count is not asked for its usage", async () => {
  const [toHost, toCell] = [new PassThrough(), new PassThrough()];
  const channel = Duplex.from({ readable: toHost, writable: toCell });
  toHost.write(encodeFrameHead({ t: "hello", protocol: 1, python: "3.11.2", languages: ["python"], features: [] }));
  toHost.write(encodeFrameHead({ t: "ready" }));
  const kernel = await KernelClient.connect(channel, config);
  const sent = toCell.readableLength;
  expect(await kernel.usage()).toBeUndefined();
  expect(toCell.readableLength).toBe(sent);
});
