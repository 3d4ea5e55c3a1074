import { describe, expect, test } from "vitest";
import { boundedJson, FrameReader, parseHeader } from "./channel.ts";

function frame(header: object, body = ""): Buffer {
  const json = Buffer.from(JSON.stringify(header));
  const head = Buffer.alloc(8);
  head.writeUInt32LE(4 + json.length + Buffer.byteLength(body), 0);
  head.writeUInt32LE(json.length, 4);
  return Buffer.concat([head, json, Buffer.from(body)]);
}

describe("FrameReader", () => {
  test("returns the same frames wherever the bytes are split", () => {
    const stream = Buffer.concat([frame({ t: "run", id: 1 }, "print(1)"), frame({ t: "vars", id: 2 })]);
    for (const step of [1, 3, 8, stream.length]) {
      const seen: string[] = [];
      const reader = new FrameReader();
      for (let at = 0; at < stream.length; at += step) {
        reader.push(stream.subarray(at, at + step), ({ header, body }) =>
          seen.push(`${header.t} ${Buffer.from(body)}`),
        );
      }
      expect(seen).toEqual(["run print(1)", "vars "]);
    }
  });

  test("rejects a length over the limit before it waits for the bytes", () => {
    const bad = Buffer.alloc(8);
    bad.writeUInt32LE(0x7fff_ffff, 0);
    expect(() => new FrameReader().push(bad, () => {})).toThrow("exceeds the limits");
  });
});

describe("boundedJson", () => {
  test("leaves out values that do not fit into a header and keeps the rest", () => {
    const header = { t: "done", id: 1, status: "ok", result: "ü".repeat(200_000) };
    expect(JSON.parse(boundedJson(header))).toEqual({ t: "done", id: 1, status: "ok" });
  });

  test("keeps a large value that fits", () => {
    const header = { t: "done", result: "x".repeat(200_000) };
    expect(JSON.parse(boundedJson(header))).toEqual(header);
  });
});

describe("parseHeader", () => {
  test.each(["", "{", "1", "null", '"text"'])("returns undefined for %j", (text) => {
    expect(parseHeader(text)).toBeUndefined();
  });
});
