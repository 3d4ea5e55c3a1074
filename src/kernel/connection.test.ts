import { once } from "node:events";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { KernelConnection } from "./connection.ts";
import type { KernelSetup } from "./messages.ts";

const config: KernelSetup = { env: {}, path: [], preload: [], background: false, recovery: true };

describe("a connection to a cell", () => {
  test("a connection whose cell exited before anybody listened fails at once", async () => {
    const channel = new PassThrough();
    channel.destroy();
    await once(channel, "close");
    await expect(KernelConnection.open(channel, config)).rejects.toMatchObject({ code: "cell_lost" });
  });

  test("a start whose signal fired before it began is aborted", async () => {
    const channel = new PassThrough();
    const open = KernelConnection.open(channel, config, { signal: AbortSignal.abort(new Error("changed my mind")) });
    await expect(open).rejects.toMatchObject({
      code: "aborted",
      message: "the start was aborted: changed my mind",
    });
  });
});
