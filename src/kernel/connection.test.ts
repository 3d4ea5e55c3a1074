import { once } from "node:events";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { KernelConnection } from "./connection.ts";
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
