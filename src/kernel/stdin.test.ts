import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { Credit } from "./credit.ts";
import { sendStdin } from "./stdin.ts";

function sent() {
  const pieces: string[] = [];
  const send = (piece: Uint8Array, isLast: boolean) => {
    pieces.push(`${Buffer.from(piece)}${isLast ? "$" : ""}`);
  };
  return { pieces, send };
}

/** Counts how often it is asked for more. */
function counted(chunks: readonly (string | Uint8Array)[]) {
  const source = {
    asked: 0,
    isReleased: false,
    async *[Symbol.asyncIterator]() {
      try {
        for (const chunk of chunks) {
          source.asked++;
          yield chunk;
        }
      } finally {
        source.isReleased = true;
      }
    },
  };
  return source;
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 5));

describe("standard input", () => {
  test("is sent in pieces as large as the credit, then its end", async () => {
    const { pieces, send } = sent();
    const credit = new Credit();
    const done = sendStdin(counted(["abc", Buffer.from("de")]), credit, send);
    credit.grant(2);
    await settled();
    expect(pieces).toEqual(["ab"]);
    credit.grant(10);
    await done;
    expect(pieces).toEqual(["ab", "c", "de", "$"]);
  });

  test("is not read before the run starts, and no further than the credit", async () => {
    const { send } = sent();
    const credit = new Credit();
    const source = counted(["a", "b", "c"]);
    const done = sendStdin(source, credit, send);
    await settled();
    expect(source.asked).toBe(0);
    credit.grant(1);
    await settled();
    expect(source.asked).toBe(1);
    credit.close();
    await done;
    expect(source).toMatchObject({ asked: 1, isReleased: true });
  });

  test("that waits for data is released when the run ends", async () => {
    const { pieces, send } = sent();
    const credit = new Credit();
    const stream = new PassThrough();
    const done = sendStdin(stream, credit, send);
    credit.grant(10);
    await settled();
    credit.close();
    await done;
    expect(stream.destroyed).toBe(true);
    expect(pieces).toEqual([]);
  });

  test("that fails or is neither text nor bytes throws, without an end", async () => {
    const { pieces, send } = sent();
    const stream = new PassThrough();
    stream.write("half");
    setTimeout(() => stream.destroy(new Error("the disk is gone")), 5);
    const credit = new Credit();
    credit.grant(10);
    await expect(sendStdin(stream, credit, send)).rejects.toThrow("the disk is gone");
    await expect(sendStdin(counted([7 as unknown as string]), credit, send)).rejects.toMatchObject({ code: "usage" });
    expect(pieces).toEqual(["half"]);
  });
});
