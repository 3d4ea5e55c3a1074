import { EventEmitter } from "node:events";
import type { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { leastCpuMsOf } from "../../../test/support/cpu-time.ts";
import { defaultQuota, defaultTimes } from "../rules/limits.ts";
import { admitClient } from "./admit-client.ts";

/** The beginning of a hello of 60,000 bytes. */
function beginning(length: number): Buffer {
  const bytes = Buffer.alloc(60_000);
  for (let at = 0; at < bytes.length; at += 5 + 16_000) bytes.set([22, 3, 1, 16_000 >> 8, 16_000 & 255], at);
  bytes.set([1, 0, 0xf0, 0], 5);
  return bytes.subarray(0, length);
}

test("holding back a TLS hello that comes byte by byte takes time that is linear in its length", async () => {
  const took = (length: number) =>
    leastCpuMsOf(() => {
      const client = new EventEmitter();
      admitClient({
        ...{ client: client as Duplex, early: Buffer.alloc(0), host: "good.example", needsTls: true },
        limits: { ...defaultTimes, ...defaultQuota },
        onAdmitted: () => expect.unreachable(),
        onRefused: () => expect.unreachable(),
        onEnded() {},
      });
      for (const byte of beginning(length)) client.emit("data", Buffer.of(byte));
      client.emit("end");
    });
  await took(5_000); // warm-up
  expect(await took(50_000)).toBeLessThan(200); // parsed again for each byte: seconds
});
