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
