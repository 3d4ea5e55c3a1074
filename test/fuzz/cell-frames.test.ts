import { once } from "node:events";
import { duplexPair } from "node:stream";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { KernelClient } from "../../src/kernel/client.ts";
import { FrameDecoder, maxFrameBytes } from "../../src/kernel/frames.ts";
import { CodecellError } from "../../src/lib/errors.ts";
import { cellHeaders, fixtureFrames, frameOf } from "../support/fuzz/cell-messages.ts";
import { patienceMs, tries } from "../support/fuzz/long-mode.ts";
import { mutatedBytes, mutatedObject } from "../support/fuzz/mutations.ts";

const honest = [...fixtureFrames, ...cellHeaders.map((header) => frameOf(header, Buffer.from("{}")))];
const mutatedFrame = fc.oneof(
  mutatedBytes(honest),
  fc.tuple(mutatedObject(cellHeaders), fc.uint8Array({ maxLength: 40 })).map(([header, body]) => frameOf(header, body)),
);

const stray: unknown[] = [];
const keep = (error: unknown) => stray.push(error);
beforeEach(() => {
  stray.length = 0;
  process.on("unhandledRejection", keep);
  process.on("uncaughtException", keep);
});
afterEach(() => {
  process.off("unhandledRejection", keep);
  process.off("uncaughtException", keep);
});

describe("the decoder of frames", () => {
  test(
    "returns frames or says that the cell is lost, and keeps no more bytes than one frame has, whatever it is given",
    () => {
      const property = fc.property(
        fc.array(mutatedFrame, { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 1, max: 200 }),
        (frames, pieceBytes) => {
          const stream = Buffer.concat(frames);
          const decoder = new FrameDecoder();
          let decoded = 0;
          try {
            for (let at = 0; at < stream.length; at += pieceBytes) {
              decoder.push(stream.subarray(at, at + pieceBytes), ({ body }) => {
                decoded += body.length;
              });
            }
          } catch (error) {
            expect(error).toMatchObject({ code: "cell_lost" });
          }
          expect(decoded).toBeLessThanOrEqual(Math.min(stream.length, maxFrameBytes * frames.length));
        },
      );
      fc.assert(property, tries(2_000));
    },
    patienceMs,
  );

  test(
    "does not depend on where the stream is cut",
    () => {
      const decode = (pieces: readonly Buffer[]) => {
        const seen: unknown[] = [];
        const decoder = new FrameDecoder();
        try {
          for (const piece of pieces) {
            decoder.push(piece, ({ header, body }) => seen.push([header, Buffer.from(body).toString("hex")]));
          }
        } catch (error) {
          seen.push((error as CodecellError).code);
        }
        return seen;
      };
      const property = fc.property(
        fc.array(mutatedFrame, { maxLength: 4 }),
        fc.integer({ min: 1, max: 50 }),
        (frames, size) => {
          const stream = Buffer.concat(frames);
          const pieces = Array.from({ length: Math.ceil(stream.length / size) }, (_, at) =>
            stream.subarray(at * size, (at + 1) * size),
          );
          expect(decode(pieces)).toEqual(decode([stream]));
        },
      );
      fc.assert(property, tries(1_000));
    },
    patienceMs,
  );
});

/** A cell that starts honestly, then sends what it is told and hangs up. */
async function attackedClient(frames: readonly Buffer[]): Promise<void> {
  const [host, cell] = duplexPair();
  cell.resume();
  cell.on("error", () => {});
  const opening = KernelClient.connect(
    host,
    { env: {}, path: [], preload: [], background: false, recovery: true },
    { onStream: (stream) => stream.on("error", () => {}).resume() },
  );
  cell.write(frameOf(cellHeaders[0]));
  cell.write(frameOf({ t: "ready" }));
  const client = await opening;
  const quiet = { onOutput() {}, onDisplay() {} };
  const run = client.run({ language: "python", code: "1", timeoutMs: 1000, outputBytes: 1000 }, quiet).done;
  const pending = [run, client.variables(), client.get("x", "json", { maxBytes: 1000, timeoutMs: 1000 })];
  const settled = Promise.allSettled(pending);
  for (const frame of frames) cell.write(frame);
  cell.end();
  for (const one of await settled) {
    if (one.status === "rejected") expect(one.reason).toBeInstanceOf(CodecellError);
  }
  expect(client.isAlive).toBe(false);
  if (!host.destroyed) {
    host.destroy();
    await once(host, "close");
  }
}

test(
  "mutated frames from a cell settle every request of its client with a result or an error that has a code",
  async () => {
    const property = fc.asyncProperty(fc.array(mutatedFrame, { maxLength: 20 }), async (frames) => {
      await attackedClient(frames);
      expect(stray).toEqual([]);
    });
    await fc.assert(property, tries(400));
  },
  patienceMs,
);
