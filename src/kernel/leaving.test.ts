import { Duplex, PassThrough } from "node:stream";
import { expect, onTestFinished, test, vi } from "vitest";
import { KernelClient } from "./client.ts";
import { encodeFrameHead, FrameDecoder } from "./frames.ts";
import type { KernelSetup } from "./messages.ts";

const config: KernelSetup = { env: {}, path: [], preload: [], background: false, recovery: true };

/** A cell with one fork, and a supervisor that answers nothing but `fork` and `leave`. */
async function forkedCell() {
  const [toHost, toCell] = [new PassThrough(), new PassThrough()];
  const channel = Duplex.from({ readable: toHost, writable: toCell });
  const decoder = new FrameDecoder();
  toCell.on("data", (bytes: Buffer) =>
    decoder.push(bytes, ({ header }) => {
      const { t, id, branch } = header as { t: string; id: number; branch?: number };
      if (t === "fork" || t === "leave") toHost.write(encodeFrameHead({ t: "reply", id, ok: true, branch }));
    }),
  );
  toHost.write(
    encodeFrameHead({ t: "hello", protocol: 1, python: "3.11.2", languages: ["python"], features: ["fork"] }),
  );
  toHost.write(encodeFrameHead({ t: "ready" }));
  const parent = await KernelClient.connect(channel, config);
  return { parent, fork: await parent.fork({}) };
}

test("a request of a session that was closed meanwhile is rejected, and does not end the cell of its forks", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { parent, fork } = await forkedCell();
  const before = fork.variables();
  const leaving = fork.leave();
  const during = Promise.resolve().then(() => fork.variables());
  const answers = Promise.allSettled([before, during]);
  await leaving;
  const after = Promise.resolve().then(() => fork.variables());
  const run = () =>
    fork.run({ code: "1", language: "python", timeoutMs: 1, outputBytes: 1 }, { onOutput() {}, onDisplay() {} });
  expect(run).toThrow("closed");
  after.catch(() => {});
  await vi.advanceTimersByTimeAsync(60_000);
  expect([parent.isAlive, fork.isAlive]).toEqual([true, false]);
  await expect(after).rejects.toMatchObject({ code: "session_closed" });
  for (const answer of await answers) {
    expect(answer).toMatchObject({ status: "rejected", reason: { code: "session_closed" } });
  }
});
